import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { contextFill, lastWords, sumUsage } from '../../agents/hooks/usage.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import type { HookEvent, HookEventOf } from '../../domain/hooks.ts'
import { KeptTexts } from './kept-texts.ts'

/** More at once is not read; the rest comes with the next turn. */
const MOST_BYTES = 4_000_000

/**
 * What a conversation used since the last look; what it used before its first hook does not count.
 */
export function readSessionUsage(event: HookEvent, paths: Pick<AppPaths, 'run'>): HookEventOf<'usage'> | undefined {
  const { kind, transcript, vendor, session } = event
  if (transcript === undefined) return undefined
  const kept = new KeptTexts(paths, 'hook-usage')
  const mark = kept.read(`${vendor}\0${session}`)
  const from = mark === undefined ? undefined : Math.max(0, Number(mark) || 0)
  try {
    const { lines, next } = readLines(transcript, from ?? 0, from === undefined && kind === 'session_start')
    if (next !== from) kept.keep(`${vendor}\0${session}`, String(next))
    const used = sumUsage(vendor, lines, 'model' in event ? event.model : undefined)
    return used && { ...baseOf(event), kind: 'usage', ...used }
  } catch {
    return undefined // the vendor has written no record yet, or it may not be read
  }
}

/** Vendors drop the older part of a conversation at about this share: work that begins now would be cut off. */
const FULL = 0.9
/** The last answer of a turn is near the end of the record. */
const LAST_BYTES = 1_000_000

/** Whether the context of a conversation is so full that going on makes no sense; false where that is not known. */
export function isContextFull(event: HookEvent): boolean {
  return (contextFill(event.vendor, readEnd(event)) ?? 0) >= FULL
}

/** The last words of the agent, from its record where the vendor does not send them. Of a subagent's record nothing is known. */
export function readLastWords(event: HookEventOf<'stop'>): string {
  return event.text || (event.agent_type === undefined ? lastWords(event.vendor, readEnd(event)) : '')
}

function readEnd({ transcript }: HookEvent): string[] {
  try {
    return readLines(transcript ?? '', -LAST_BYTES, false).lines
  } catch {
    return [] // there is no record, or it may not be read
  }
}

function baseOf({ schema_version, vendor, native, session, cwd }: HookEvent) {
  return { schema_version, vendor, native, session, cwd }
}

/** Whole lines from an offset on, counted from the end if it is negative. `skip`: none of them, because they were written before. */
function readLines(path: string, from: number, skip: boolean): { lines: string[]; next: number } {
  // A pipe would be waited for.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) return { lines: [], next: from }
    if (skip) return { lines: [], next: stats.size }
    const start = from < 0 ? Math.max(0, stats.size + from) : from > stats.size ? 0 : from
    const chunk = Buffer.alloc(Math.min(MOST_BYTES, stats.size - start))
    readSync(file, chunk, 0, chunk.length, start)
    const end = chunk.lastIndexOf('\n') + 1
    // One line that is longer than all that is read at once says nothing of usage.
    const isStuck = end === 0 && chunk.length === MOST_BYTES
    return { lines: chunk.subarray(0, end).toString('utf8').split('\n'), next: start + (isStuck ? chunk.length : end) }
  } finally {
    closeSync(file)
  }
}
