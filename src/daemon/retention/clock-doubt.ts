import { readFileSync, rmSync } from 'node:fs'
import { replaceFile } from '../../base/files/replace-file.ts'
import { type ClockEvidence, trustClock } from './trust-clock.ts'

/** Remembers over restarts that the clock was doubted, so that a second look a day later can believe it. */
export function believesClock(file: string, { now, gapMs }: Omit<ClockEvidence, 'doubtedAt'>): boolean {
  const doubtedAt = readDoubt(file)
  const isTrusted = trustClock({ now, gapMs, doubtedAt })
  if (isTrusted) rmSync(file, { force: true })
  // A doubt from another time (the clock was set once more) begins anew.
  else if (doubtedAt === undefined || now < doubtedAt || !isRecent(now, doubtedAt)) replaceFile(file, String(now))
  return isTrusted
}

function isRecent(now: number, doubtedAt: number): boolean {
  return now - doubtedAt <= 7 * 24 * 60 * 60_000
}

function readDoubt(file: string): number | undefined {
  try {
    const at = Number(readFileSync(file, 'utf8'))
    return at > 0 ? at : undefined
  } catch {
    return undefined // there was none
  }
}
