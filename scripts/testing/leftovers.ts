import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Marker } from '../../src/base/process/marker.ts'
import { commandOf, isAlive, startTimeOf } from '../../src/base/process/process-table.ts'
import { type FoundProcess, findMarked } from '../../src/base/process/sweep.ts'

interface Finished {
  marker: Marker
  /** Its temporary folder: agents get an environment of their own without the marker, but their home is in it. */
  folder: string
  /** A guardian whose owner just ended needs a moment for its sweep; what is there after this long was forgotten. */
  graceMs: number
}

/** Ends, by their numbers, the processes of finished tests that did not go by themselves, and tells which they were. */
export async function endLeftovers(finished: Finished): Promise<FoundProcess[]> {
  const left = await untilNone(finished, finished.graceMs)
  if (left.length === 0) return left
  for (const one of left) if (await isAlive(one)) end(one.pid)
  await untilNone(finished, 1_000)
  return left
}

async function untilNone(finished: Finished, patienceMs: number): Promise<FoundProcess[]> {
  const deadline = Date.now() + patienceMs
  let left = await findLeftovers(finished)
  for (let pauseMs = 25; left.length > 0 && Date.now() < deadline; pauseMs = Math.min(2 * pauseMs, 500)) {
    await sleep(pauseMs)
    left = await findLeftovers(finished)
  }
  return left
}

async function findLeftovers({ marker, folder }: Finished): Promise<FoundProcess[]> {
  const found = new Map((await findMarked(marker)).map(one => [one.pid, one]))
  for (const pid of pidsIn(folder)) {
    const startTime = await startTimeOf(pid)
    if (startTime !== undefined && !found.has(pid)) found.set(pid, { pid, startTime, command: commandOf(pid) })
  }
  return [...found.values()]
}

/** Linux only; elsewhere the marker alone has to do. */
function pidsIn(folder: string): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => Number.isInteger(pid) && pid !== process.pid && touches(pid, folder))
}

function touches(pid: number, folder: string): boolean {
  try {
    const paths = `${readFileSync(`/proc/${pid}/environ`, 'utf8')}\0${readlinkSync(`/proc/${pid}/cwd`)}/\0`
    return paths.includes(`=${folder}/`) || paths.includes(`\0${folder}/`)
  } catch {
    return false // gone, or another user's
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it went by itself in this instant
  }
}
