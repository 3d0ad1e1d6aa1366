import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { CrashPointName } from '../src/base/crash-point.ts'
import { PLANTED_BUGS } from '../src/base/planted.ts'
import { programVersion } from '../src/base/version.ts'
import { thisMachine } from './chaos/faults/machine.ts'
import { diedAt, RESULTS_FILE, writePage } from './chaos/page.ts'
import { planRound } from './chaos/plan/plan-round.ts'
import { planPointRound } from './chaos/plan/point-round.ts'
import { ALL_POINTS } from './chaos/plan/points.ts'
import { caughtBy } from './chaos/planted.ts'
import { changeResults, type KeptResults, type KeptRound, kept, withEarlier } from './chaos/results.ts'
import { runRound } from './chaos/round.ts'
import { table } from './chaos/table.ts'
import { storyOf } from './chaos/tell.ts'
import { ROOT } from './places.ts'

// npm run chaos -- [--rounds N] [--seed S] [--minutes M] [--point step] [--plant bug] [--trace] [--dry]
// A round is decided by its seed: the one that failed is replayed with --seed <its seed> --rounds 1.

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    point: { type: 'string' },
    plant: { type: 'string' },
    trace: { type: 'boolean', default: false },
    dry: { type: 'boolean', default: false },
  },
})
const points = values.point === undefined ? [] : pointsOf(values.point)
const rounds = values.rounds === undefined ? points.length || 10 : wholeNumber('rounds', values.rounds)
const seed = values.seed === undefined ? Math.floor(Date.now() / 1000) % 1_000_000 : wholeNumber('seed', values.seed)
const deadline = values.minutes === undefined ? Infinity : Date.now() + wholeNumber('minutes', values.minutes) * 60_000
const plant = PLANTED_BUGS.find(bug => bug === values.plant)
if (values.plant !== undefined && plant === undefined) {
  fail(`--plant ${values.plant}: there is no such bug; there are ${PLANTED_BUGS.join(', ')}`)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130))

const machine = thisMachine()
const agentHome = mkdtempSync(join(tmpdir(), 'pcc-chaos-agent-'))
process.once('exit', () => removed(agentHome))
const passed = new Set<string>()
const done: KeptRound[] = []
let caught = false
for (let nth = 0; nth < rounds && Date.now() < deadline; nth++) {
  const point = points[nth % points.length]
  const plan = point ? planPointRound(seed + nth, point) : planRound(seed + nth)
  const result = await runRound(plan, { machine, agentHome, plant })
  for (const name of result.history.passed) passed.add(name)
  const round = kept(result)
  done.push(round)
  const told = `${round.hit.join(', ') || 'nothing hit'} · ${round.sessions} sessions · ${(result.ms / 1000).toFixed(1)} s`
  process.stdout.write(`seed ${plan.seed}: ${round.violations.length === 0 ? 'ok' : 'VIOLATED'} · ${told}\n`)
  for (const violation of round.violations) process.stdout.write(`  ${violation}\n`)
  if (values.trace) process.stdout.write(storyOf(result.history))
  if (!plant) keepRound(point ? `${plan.seed} ${point}` : String(plan.seed), round)
  const by = plant ? caughtBy(plant, result.violations) : []
  if (plant && by.length > 0) {
    caught = true
    process.stdout.write(`The planted bug ${plant} was caught after ${nth + 1} rounds by ${by.join(', ')}.\n`)
    keep(before => ({ planted: { ...before.planted, [plant]: { rounds: nth + 1, by: by.join(', ') } } }))
    break
  }
}
if (!values.dry) writePage()
const unreached = ALL_POINTS.filter(name => !passed.has(name))
process.stdout.write(`\n${table({ rounds: done, notRun: machine.notRun })}\n`)
process.stdout.write(`steps at which daemons died: ${[...diedAt(done)].join(', ') || 'none'}\n`)
process.stdout.write(`steps passed: ${ALL_POINTS.length - unreached.length} of ${ALL_POINTS.length}\n`)
if (unreached.length > 0) process.stdout.write(`not passed in this run: ${unreached.join(', ')}\n`)
const isBad = done.some(({ violations }) => violations.length > 0)
process.exitCode = plant ? Number(!caught) : Number(isBad)

/** After every round, so that what was found is not lost with the run. */
function keepRound(key: string, round: KeptRound): void {
  keep(({ rounds }) => ({ rounds: { ...rounds, [key]: withEarlier(round, rounds[key]) } }))
}

function keep(change: (before: KeptResults) => Partial<KeptResults>): void {
  if (values.dry) return
  const node = process.versions.node.split('.', 1)[0] ?? ''
  const versions = { program: programVersion(), node, claude: claudeVersion() }
  changeResults(RESULTS_FILE, before => ({ ...before, versions, ...change(before) }))
}

/** Agents may still write there when the run is interrupted; what throws here would keep their daemons from being ended. */
function removed(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  } catch {
    // the system's temporary folder is tidied by others
  }
}

function claudeVersion(): string {
  const manifest = readFileSync(join(ROOT, 'package.json'), 'utf8')
  return (
    (JSON.parse(manifest) as { dependencies: Record<string, string> }).dependencies['@anthropic-ai/claude-agent-sdk'] ??
    ''
  )
}

/** One step, several with commas between them, or `all` of them, one a round. */
function pointsOf(text: string): readonly CrashPointName[] {
  if (text === 'all') return ALL_POINTS
  return text
    .split(',')
    .map(
      word =>
        ALL_POINTS.find(name => name === word) ??
        fail(`--point ${word}: there is no such step; src/base/crash-point.ts has them`),
    )
}

function wholeNumber(name: string, text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : fail(`--${name} ${text}: it is not a whole number`)
}

function fail(problem: string): never {
  process.stderr.write(`${problem}\n`)
  process.exit(2)
}
