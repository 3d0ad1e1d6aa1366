import { brandLimits, type Marker } from './marker.ts'
import { findSystemProgram } from './peer.ts'
import { runShortSync } from './run-short.ts'

/**
 * Brands a process that already runs, and with it everything that it starts from now on, also through a double fork and with an
 * emptied environment. Only root can take the brand off again. False where that cannot be done: not on Linux, without `prlimit`
 * (util-linux), or if the process belongs to somebody else.
 */
export function brandProcess(marker: Marker, pid: number, env: Record<string, string | undefined>): boolean {
  const prlimit = process.platform === 'linux' ? findSystemProgram('prlimit', env) : undefined
  if (prlimit === undefined) return false
  const args = ['--pid', String(pid), `--locks=${brandLimits(marker, pid).join(':')}`]
  const { code } = runShortSync({ command: prlimit, args, cwd: '/', env: {}, timeoutMs: 2_000, maxBytes: 10_000 })
  return code === 0
}
