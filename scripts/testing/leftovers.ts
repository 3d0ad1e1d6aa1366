import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Marker } from '../../src/base/process/marker.ts'
import { commandOf, isAlive, startTimeOf } from '../../src/base/process/process-table.ts'
import { type FoundProcess, findMarked } from '../../src/base/process/sweep.ts'

interface Finished {
  marker: Marker
  /** Its temporary folder. Agents get their own environment without the marker, but their home is in this folder. */
  folder: string
  /** A guardian whose owner just ended needs a moment for its sweep; processes that remain after this time are leftovers. */
  graceMs: number
}

/** Kills, by pid, the processes of finished tests that did not end by themselves, and returns them. */
export async function endLeftovers(finished: Finished): Promise<FoundProcess[]> {
  const left = await untilNone(finished, finished.graceMs)
  if (left.length === 0) return left
  for (const process of left) if (await isAlive(process)) end(process.pid)
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
  const found = new Map((await findMarked(marker)).map(process => [process.pid, process]))
  for (const pid of pidsIn(folder)) {
    const startTime = await startTimeOf(pid)
    if (startTime !== undefined && !found.has(pid)) found.set(pid, { pid, startTime, command: commandOf(pid) })
  }
  return [...found.values()]
}

/** Linux only; elsewhere only the marker is used. */
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
    return false // the process is gone, or belongs to another user
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has just ended by itself
  }
}
