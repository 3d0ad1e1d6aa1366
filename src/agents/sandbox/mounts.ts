/** What of the file system an agent sees: real paths, all of them there. */
export interface Mounts {
  /** Nothing of these is seen. */
  hidden: string[]
  /** Seen, though they lie in something hidden. */
  shown: string[]
  /** May be written. */
  writable: string[]
  /** May not be written, though they lie in something that may. */
  kept: string[]
  /** May be written, though they lie in something that is kept. */
  regained: string[]
}

/**
 * The arguments of bubblewrap for them. Later ones lie over earlier ones: the whole system read-only, what is hidden empty, what is shown
 * back in, what may be written, and last what may not and what of that may again. `/run` holds the sockets of the machine (containers, the desktop, other agents):
 * one that is seen can be spoken to, read-only or not.
 */
export function mountArgs({ hidden, shown, writable, kept, regained }: Mounts): string[] {
  return [
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...['--tmpfs', '/tmp', '--tmpfs', '/var/tmp', '--tmpfs', '/run'],
    ...byDepth(hidden).flatMap(path => ['--tmpfs', path]),
    ...byDepth(shown).flatMap(path => ['--ro-bind', path, path]),
    ...byDepth(writable).flatMap(path => ['--bind', path, path]),
    ...byDepth([...kept, ...regained]).flatMap(path => [regained.includes(path) ? '--bind' : '--ro-bind', path, path]),
  ]
}

/** Those further out first, or they would lie over the others. */
function byDepth(paths: string[]): string[] {
  return [...new Set(paths)].sort((a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1))
}
