"""A trigger with a bug, and the sensor that uses it. A triggerer can only import what is on its path."""

from airflow_provider_iceberg_finalization.sensors.finalization import FinalizationSensor
from airflow_provider_iceberg_finalization.triggers.finalization import FinalizationTrigger


class CrashingTrigger(FinalizationTrigger):
    """Ends without an event."""

    async def run(self):
        raise RuntimeError("a bug")
        yield


class CrashingSensor(FinalizationSensor):
    """Is deferred to it."""

    def defer(self, *, trigger, **kwargs):
        _, arguments = trigger.serialize()
        super().defer(trigger=CrashingTrigger(**arguments), **kwargs)
