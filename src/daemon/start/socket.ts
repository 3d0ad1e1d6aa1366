import { lstatSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { AppError } from '../../base/errors.ts'

/**
 * Makes the socket's path free. What a dead daemon left is removed; anything else in its place is left alone and refused.
 * The caller holds the daemon's lock, so nobody else of ours is about to listen there.
 */
export async function clearSocketPath(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return
  if (!found.isSocket() || (await answers(path))) throw new AppError('socket_occupied', { path })
  rmSync(path, { force: true })
}

/** Only a refused connection proves that nobody listens; every other outcome leaves the file where it is. */
function answers(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT')
    })
  })
}
