package io.github.icebergfinalization.python;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.ClientServer;

/**
 * A Python process that runs one commit processor ({@code python -m sink_extensions.worker}).
 *
 * <p>It watches its standard input and ends when that closes, so it does not outlive this JVM, however that ends. Its
 * log (standard error) goes to ours. Calls go over a loopback connection with a secret that only the two know.
 */
final class PythonWorker implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(PythonWorker.class);
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(5);

  /** The processor as the Python side offers it. */
  public interface Processor {
    void preCommit(PythonCommitContext context);

    void postCommit(PythonCommitContext context);
  }

  private final Process process;
  private final ClientServer bridge;
  private final Processor processor;
  private final Duration timeout;
  // py4j keeps a connection for each thread: all calls come from this one.
  private final ExecutorService calls = Executors.newSingleThreadExecutor(PythonWorker::daemon);

  private PythonWorker(Process process, ClientServer bridge, Duration timeout) {
    this.process = process;
    this.bridge = bridge;
    this.processor = (Processor) bridge.getPythonServerEntryPoint(new Class<?>[] {Processor.class});
    this.timeout = timeout;
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "python-commit-processor");
    thread.setDaemon(true);
    return thread;
  }

  /** Has Python import a class and ends. @throws IOException with Python's answer */
  static void check(String executable, String target) throws IOException {
    Process process = launch(executable, "--check", target);
    process.getOutputStream().close();
    String answer = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8).trim();
    if (exitCode(process) != 0) {
      throw new IOException(answer.substring(answer.lastIndexOf('\n') + 1));
    }
  }

  /** Starts a worker and waits until it offers its class. @throws IOException with Python's answer */
  static PythonWorker start(String executable, String target, Duration timeout) throws IOException {
    Process process = launch(executable, target);
    String token = UUID.randomUUID().toString();
    process.getOutputStream().write((token + "\n").getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().flush();
    daemon(() -> copyLog(process, target)).start();
    String port =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
    if (port == null) {
      throw new IOException(
          "the Python worker for " + target + " ended with exit code " + exitCode(process) + "; its log has the reason");
    }
    ClientServer bridge =
        new ClientServer.ClientServerBuilder()
            .javaPort(0)
            .pythonPort(Integer.parseInt(port))
            .socketFactory(new PromptSockets())
            .authToken(token)
            .build();
    return new PythonWorker(process, bridge, timeout);
  }

  private static Process launch(String executable, String... arguments) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(executable, "-m", "sink_extensions.worker");
    builder.command().addAll(java.util.List.of(arguments));
    return builder.start();
  }

  private static void copyLog(Process process, String target) {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
      lines.lines().forEach(line -> LOG.info("[{}] {}", target, line));
    } catch (IOException | UncheckedIOException e) {
      LOG.debug("log of the Python worker for {} ended", target, e);
    }
  }

  private static int exitCode(Process process) throws IOException {
    try {
      return process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while waiting for Python", e);
    }
  }

  /** Calls the processor. @throws IOException if it raised, took too long, or the process is gone */
  void call(Consumer<Processor> call) throws IOException {
    Future<?> future = calls.submit(() -> call.accept(processor));
    try {
      future.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      process.destroyForcibly();
      throw new IOException(
          "the Python commit processor did not answer within " + timeout + " and was ended; a longer time: "
              + PythonProcessor.TIMEOUT.key(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while the Python commit processor ran", e);
    } catch (ExecutionException e) {
      String state = process.isAlive() ? "raised" : "is gone (exit code " + process.exitValue() + ")";
      throw new IOException("the Python commit processor " + state + ": " + e.getCause().getMessage(), e.getCause());
    }
  }

  @Override
  public void close() {
    calls.shutdownNow();
    bridge.shutdown();
    try {
      process.getOutputStream().close();
      if (!process.waitFor(STOP_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
        process.destroyForcibly();
      }
    } catch (IOException e) {
      process.destroyForcibly();
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
