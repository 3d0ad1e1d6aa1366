import { isAbsolute } from 'node:path'
import * as z from 'zod'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import { parseJson } from '../../base/json.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { spawnGuarded } from '../../base/process/guardian.ts'
import type { QuotaWindow } from '../../domain/quota.ts'
import type { CcusageEnv } from '../../store/usage-reports.ts'

/** The window that ccusage reports, or the problem. An undefined window means that ccusage works and nothing was used recently. */
export type CcusageReading = { window: QuotaWindow | undefined } | { problem: string }

export interface CcusageCall {
  /** Name or path of the program. */
  program: string
  place: CcusageEnv
  /** The tokens of a full window, which the person sets: ccusage reports tokens and no share. */
  tokenLimit: number
}

export type Ccusage = (call: CcusageCall) => Promise<CcusageReading>

const TIMEOUT_MS = 2_000
const KEPT_MS = 300_000
/** A year of use is some hundreds of kilobytes; more is not a valid answer. */
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

/** Runs ccusage at most once in five minutes for each environment: nobody must wait again and again for a program that hangs. */
export function openCcusage(clock: Clock): Ccusage {
  const kept = new Map<string, { at: number; blocks: Promise<Blocks | string> }>()
  return async ({ program, place, tokenLimit }) => {
    const key = JSON.stringify([program, place])
    const now = clock.now()
    let reading = kept.get(key)
    if (!reading || Math.abs(now - reading.at) >= KEPT_MS) {
      reading = { at: now, blocks: readBlocks(program, place) }
      kept.set(key, reading)
    }
    const blocks = await reading.blocks
    if (typeof blocks === 'string') return { problem: blocks }
    return { window: findActiveWindow(blocks, { tokenLimit, at: reading.at, now }) }
  }
}

/** Blocks come from local files and begin at a full hour: near the vendor's window, but not the same. */
function findActiveWindow(blocks: Blocks, { tokenLimit, at, now }: { tokenLimit: number; at: number; now: number }) {
  const active = blocks.findLast(block => block.isActive && !block.isGap && Date.parse(block.endTime) > now)
  if (!active) return undefined
  const utilization = active.totalTokens / tokenLimit
  return { window: 'five_hour', utilization, resets_at: Date.parse(active.endTime), source: 'ccusage' as const, at }
}

async function readBlocks(program: string, place: CcusageEnv): Promise<Blocks | string> {
  if (program.includes('/') && !isAbsolute(program)) return `quota.ccusage must be a name or a whole path: ${program}`
  const command = findProgram(program, place, '/')
  if (!command) return `${program} is not installed`
  const output = await runCcusage(command, place).catch(error => ({
    problem: `${program} cannot be run: ${messageOf(error)}`,
  }))
  if ('problem' in output) return output.problem
  const parsed = Blocks.safeParse(parseJson(output.text))
  return parsed.success ? parsed.data.blocks : `${program} printed something that is not its report`
}

/** The process tree ends when ccusage exits, after the timeout, and with us. */
async function runCcusage(command: string, place: CcusageEnv): Promise<{ text: string } | { problem: string }> {
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
  const timer = setTimeout(resolve, TIMEOUT_MS, {
    problem: `${command} did not answer within ${TIMEOUT_MS / 1000} s`,
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
