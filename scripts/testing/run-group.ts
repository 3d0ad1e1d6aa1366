import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { secretId } from '../../src/base/ids.ts'
import { brandCommand, type Marker } from '../../src/base/process/marker.ts'
import type { FoundProcess } from '../../src/base/process/sweep.ts'
import type { TestGroup } from './groups.ts'
import { endLeftovers } from './leftovers.ts'
import type { Verdict } from './verdict-reporter.ts'

const REPORTER = fileURLToPath(new URL('verdict-reporter.ts', import.meta.url))
/** Starts git from a small process, as the daemon does. */
const FORKS = new URL('forks.ts', import.meta.url).href
/** Keeps node:test from following every promise. */
const PROMISES = new URL('follow-promises.ts', import.meta.url).href
const TOGETHER = fileURLToPath(new URL('together.ts', import.meta.url))
/** The compile cache of bin/pcc.js, so that tests, commands and daemons share it. */
const COMPILED = join(tmpdir(), 'node-compile-cache')
/** No test file takes a tenth of this. A test that waits forever fails after half of it and reports its name. */
const LONGEST_MS = 600_000

export interface GroupOutcome {
  group: TestGroup
  /** Absent if the process died or was ended before its tests were over. */
  verdict: Verdict | undefined
  exit: string
  /** The output of the tests on both streams. */
  printed: string
  durationMs: number
  /** Processes that outlived it; they have been ended. */
  left: FoundProcess[]
  /** Set if it failed beside others and passed when it ran again alone. */
  isUnsteady?: true
}

/**
 * Runs the tests of a group in their own process. It and everything it starts carry a marker and live in a separate folder,
 * so that leftover processes are found and attributed to it.
 */
export async function runGroup(group: TestGroup, flags: string[], signal: AbortSignal): Promise<GroupOutcome> {
  const marker: Marker = { name: 'PCC_TEST_RUN', value: secretId(12) }
  const folder = mkdtempSync(join(tmpdir(), 'pcc-'))
  const report = join(folder, 'report.json')
  const started = performance.now()
  const own = [
    `--import=${FORKS}`,
    `--import=${PROMISES}`,
    '--test-timeout=300000',
    `--test-reporter=${REPORTER}`,
    `--test-reporter-destination=${report}`,
  ]
  const entry = group.files.length === 1 ? group.files : [TOGETHER, ...group.files]
  const { command, args } = brandCommand(marker, process.execPath, [...own, ...flags, ...entry])
  const { NODE_TEST_CONTEXT: _silencesNestedRuns, ...inherited } = process.env
  const env = { ...inherited, NODE_COMPILE_CACHE: COMPILED, [marker.name]: marker.value, TMPDIR: folder }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const over = new Promise<string>(resolve => {
    child.on('exit', (code, died) => resolve(died ?? `exit ${code}`))
    child.on('error', error => resolve(error.message))
  })
  const stop = () => child.kill('SIGTERM')
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)])
  limit.addEventListener('abort', stop)
  // A leftover child may hold these open; they close at the latest when it is ended.
  const streams = Promise.all([text(child.stdout), text(child.stderr)])
  const exit = await over
  const durationMs = performance.now() - started
  limit.removeEventListener('abort', stop)
  const verdict = readVerdict(report)
  const left = await endLeftovers({ marker, folder, graceMs: signal.aborted ? 500 : 5_000 })
  const printed = (await streams).join('')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  return { group, verdict, exit, printed, durationMs, left }
}

function readVerdict(report: string): Verdict | undefined {
  try {
    return JSON.parse(readFileSync(report, 'utf8')) as Verdict
  } catch {
    return undefined // missing or incomplete: the process died before its end
  }
}
