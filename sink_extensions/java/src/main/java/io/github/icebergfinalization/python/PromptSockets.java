package io.github.icebergfinalization.python;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import javax.net.SocketFactory;

/**
 * Sockets that send at once what is written. An answer longer than a buffer is written in parts; each part but the first
 * would wait 40 milliseconds for the other side's acknowledgement otherwise.
 */
final class PromptSockets extends SocketFactory {

  private static Socket prompt(Socket socket) throws IOException {
    socket.setTcpNoDelay(true);
    return socket;
  }

  @Override
  public Socket createSocket(String host, int port) throws IOException {
    return prompt(new Socket(host, port));
  }

  @Override
  public Socket createSocket(InetAddress host, int port) throws IOException {
    return prompt(new Socket(host, port));
  }

  @Override
  public Socket createSocket(String host, int port, InetAddress from, int fromPort) throws IOException {
    return prompt(new Socket(host, port, from, fromPort));
  }

  @Override
  public Socket createSocket(InetAddress host, int port, InetAddress from, int fromPort) throws IOException {
    return prompt(new Socket(host, port, from, fromPort));
  }
}
