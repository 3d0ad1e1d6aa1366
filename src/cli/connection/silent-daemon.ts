import { AppError } from '../../base/errors.ts'
import type { Places } from '../../base/places.ts'
import { lockHolder } from '../../daemon/start/lock.ts'

/** What is told of a daemon that takes a connection and says nothing: which process it is, and how to be rid of it. */
export function silentDaemon(places: Places, patienceMs: number): AppError {
  const pid = lockHolder(places)?.pid ?? '<pid>'
  return new AppError('daemon_silent', { home: places.home, pid, seconds: patienceMs / 1000 })
}
