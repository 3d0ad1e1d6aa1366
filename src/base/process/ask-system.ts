import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** What the system tells of a process in one of its files; empty when it is gone or belongs to somebody else. */
export function readProc(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** What `ps` prints; empty when nothing matches, for which it exits with 1. */
export function ps(...args: string[]): string {
  try {
    return execFileSync('ps', args, {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return ''
  }
}
