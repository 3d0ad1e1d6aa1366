import { isAbsolute } from 'node:path'
import * as z from 'zod'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { spawnGuarded } from '../../base/process/guardian.ts'
import type { QuotaWindow } from '../../domain/quota.ts'
import type { CcusageEnv } from '../../store/usage-reports.ts'

/** Its window, or why there is none; `undefined` in both: it works, and nothing was used of late. */
export type CcusageReading = { window: QuotaWindow | undefined } | { problem: string }

export interface CcusageCall {
  /** Name or path of the program. */
  program: string
  place: CcusageEnv
  /** It reports tokens and no share: what a full window has is for the person to say. */
  tokenLimit: number
}

export type Ccusage = (call: CcusageCall) => Promise<CcusageReading>

const PATIENCE_MS = 2_000
const KEPT_MS = 300_000
/** A year of use is some hundreds of kilobytes; more is not an answer. */
const MOST_BYTES = 8_000_000

const Blocks = z.object({
  blocks: z.array(
    z.object({
      isActive: z.boolean().default(false),
      isGap: z.boolean().default(false),
      endTime: z.iso.datetime({ offset: true }),
      totalTokens: z.number().nonnegative(),
    }),
  ),
})
type Blocks = z.infer<typeof Blocks>['blocks']

/** Asks ccusage, at most once in five minutes for each place: a program that hangs must not be waited for again and again. */
export function openCcusage(clock: Clock): Ccusage {
  const kept = new Map<string, { at: number; blocks: Promise<Blocks | string> }>()
  return async ({ program, place, tokenLimit }) => {
    const key = JSON.stringify([program, place])
    const now = clock.now()
    let reading = kept.get(key)
    if (!reading || Math.abs(now - reading.at) >= KEPT_MS) {
      reading = { at: now, blocks: askedFor(program, place) }
      kept.set(key, reading)
    }
    const blocks = await reading.blocks
    if (typeof blocks === 'string') return { problem: blocks }
    return { window: windowIn(blocks, { tokenLimit, at: reading.at, now }) }
  }
}

/** Blocks are made from local files and begin at a full hour: near the vendor's window, not the same. */
function windowIn(blocks: Blocks, { tokenLimit, at, now }: { tokenLimit: number; at: number; now: number }) {
  const active = blocks.findLast(block => block.isActive && !block.isGap && Date.parse(block.endTime) > now)
  if (!active) return undefined
  const utilization = active.totalTokens / tokenLimit
  return { window: 'five_hour', utilization, resets_at: Date.parse(active.endTime), source: 'ccusage' as const, at }
}

async function askedFor(program: string, place: CcusageEnv): Promise<Blocks | string> {
  if (program.includes('/') && !isAbsolute(program)) return `quota.ccusage must be a name or a whole path: ${program}`
  const command = findProgram(program, place, '/')
  if (!command) return `${program} is not installed`
  const said = await output(command, place).catch(error => ({
    problem: `${program} cannot be run: ${messageOf(error)}`,
  }))
  if ('problem' in said) return said.problem
  const parsed = Blocks.safeParse(parsedJson(said.text))
  return parsed.success ? parsed.data.blocks : `${program} printed something that is not its report`
}

/** Its tree ends with it, with its two seconds, and with us. */
async function output(command: string, place: CcusageEnv): Promise<{ text: string } | { problem: string }> {
  await using child = spawnGuarded({
    command,
    args: ['blocks', '--json', '--offline'],
    env: { ...place },
    cwd: '/',
    marker: { name: 'PCC_QUOTA_MARK', value: secretId(16) },
    isolation: 'marker',
  })
  child.stdin.end()
  child.stderr.resume()
  const { promise, resolve, reject } = Promise.withResolvers<{ text: string } | { problem: string }>()
  const timer = setTimeout(resolve, PATIENCE_MS, {
    problem: `${command} did not answer within ${PATIENCE_MS / 1000} s`,
  })
  const pieces: Buffer[] = []
  let bytes = 0
  child.stdout.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes > MOST_BYTES) resolve({ problem: `${command} printed more than ${MOST_BYTES / 1e6} MB` })
    else pieces.push(piece)
  })
  child.once('error', reject)
  child.once('close', code => {
    if (code === 0) resolve({ text: Buffer.concat(pieces).toString('utf8') })
    else resolve({ problem: `${command} ended with code ${code ?? 'none'}` })
  })
  return await promise.finally(() => clearTimeout(timer))
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // told as garbage by the caller
  }
}
