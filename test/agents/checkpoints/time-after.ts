import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTick } from 'node:timers/promises'

const TICKS_MS = 25

/** A time well after the last change of a file by the file system's own clock, which ticks coarsely. */
export async function timeAfter(file: string, scratch: string): Promise<number> {
  const { ctimeMs } = statSync(file)
  for (;;) {
    writeFileSync(join(scratch, 'tick'), '')
    const now = Math.floor(statSync(join(scratch, 'tick')).ctimeMs)
    if (now > ctimeMs + TICKS_MS) return now
    await nextTick()
  }
}
