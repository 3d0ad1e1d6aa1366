/** The socket of the installation's tmux server, beside the daemon's own: as short, and as closed to others. */
export function tmuxSocket(daemonSocket: string): string {
  return daemonSocket.replace(/\.sock$/, '.tmux')
}
