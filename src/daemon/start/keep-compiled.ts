import { flushCompileCache } from 'node:module'

/**
 * Writes down what was compiled so far. Node does so when it exits, which a daemon that is killed never does: its successor
 * would compile everything again in the moment when all its sessions wait for it. With nothing new there is nothing to write.
 */
export function keepCompiled(): void {
  flushCompileCache()
}
