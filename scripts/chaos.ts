import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { CrashPointName } from '../src/base/crash-point.ts'
import { programVersion } from '../src/base/program.ts'
import { thisMachine } from './chaos/faults/machine.ts'
import type { Violation } from './chaos/invariants/violation.ts'
import { diedAt, RESULTS_FILE, writePage } from './chaos/page.ts'
import { planRound } from './chaos/plan/plan-round.ts'
import { planPointRound } from './chaos/plan/point-round.ts'
import { ALL_POINTS } from './chaos/plan/points.ts'
import { PLANTS } from './chaos/plants/all.ts'
import { type Caught, catchPlant } from './chaos/plants/catch-plant.ts'
import type { Plant } from './chaos/plants/plant.ts'
import { copySource } from './chaos/plants/source-copy.ts'
import { changeResults, type KeptResults, type KeptRound, kept, withEarlier } from './chaos/results.ts'
import { type RoundResult, runRound } from './chaos/round.ts'
import { table } from './chaos/table.ts'
import { storyOf } from './chaos/tell.ts'
import { ROOT } from './places.ts'

// npm run chaos -- [--rounds N] [--seed S] [--minutes M] [--point step] [--plant mistake|all] [--trace] [--dry]
// The seed determines a round: replay a failed one with --seed <its seed> --rounds 1.

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
const plants = values.plant === undefined ? [] : findPlants(values.plant)
const points = values.point === undefined ? [] : findPoints(values.point)
/** A planted mistake that is not caught in this many rounds counts as missed. */
const defaultRounds = plants.length > 0 ? 15 : points.length || 10
const rounds = values.rounds === undefined ? defaultRounds : wholeNumber('rounds', values.rounds)
const seed = values.seed === undefined ? Math.floor(Date.now() / 1000) % 1_000_000 : wholeNumber('seed', values.seed)
const deadline = values.minutes === undefined ? Infinity : Date.now() + wholeNumber('minutes', values.minutes) * 60_000
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130))

const machine = thisMachine()
const agentHome = mkdtempSync(join(tmpdir(), 'pcc-chaos-agent-'))
process.once('exit', () => removeFolder(agentHome))
process.exitCode = plants.length > 0 ? await hunt(plants) : await playRounds()
if (!values.dry) writePage()

/** Plays ordinary rounds. Returns 1 if one of them had a violation. */
async function playRounds(): Promise<number> {
  const passed = new Set<string>()
  const done: KeptRound[] = []
  for (let nth = 0; nth < rounds && Date.now() < deadline; nth++) {
    const point = points[nth % points.length]
    const plan = point ? planPointRound(seed + nth, point) : planRound(seed + nth)
    const result = await runRound(plan, { machine, agentHome })
    for (const name of result.history.passed) passed.add(name)
    done.push(tell(result))
    keepRound(point ? `${plan.seed} ${point}` : String(plan.seed), kept(result))
  }
  const unreached = ALL_POINTS.filter(name => !passed.has(name))
  process.stdout.write(`\n${table({ rounds: done, notRun: machine.notRun })}\n`)
  process.stdout.write(`steps at which daemons died: ${[...diedAt(done)].join(', ') || 'none'}\n`)
  process.stdout.write(`steps passed: ${ALL_POINTS.length - unreached.length} of ${ALL_POINTS.length}\n`)
  if (unreached.length > 0) process.stdout.write(`not passed in this run: ${unreached.join(', ')}\n`)
  return Number(done.some(({ violations }) => violations.length > 0))
}

/** Plays rounds with a planted mistake in the daemon. Returns 1 if one of the mistakes was not caught. */
async function hunt(all: readonly Plant[]): Promise<number> {
  using copy = copySource()
  const missed: string[] = []
  const hunting = {
    ...{ copy, seed, rounds, plain: new Map<string, Violation[]>(), played: tell },
    play: (plan: RoundResult['plan'], source?: string) => runRound(plan, { machine, agentHome, source }),
  }
  for (const plant of all) {
    if (Date.now() > deadline) break
    process.stdout.write(`${plant.id}: ${plant.hurts}\n`)
    const caught = await catchPlant(plant, hunting)
    if (caught.by.length === 0) missed.push(plant.id)
    const how = caught.by.length > 0 ? `caught by ${caught.by.join(', ')}` : 'NOT CAUGHT'
    process.stdout.write(`${plant.id}: ${how} after ${caught.rounds} rounds\n\n`)
    keepCaught(plant.id, caught)
  }
  if (missed.length > 0) process.stdout.write(`not caught: ${missed.join(', ')}\n`)
  return Number(missed.length > 0)
}

function tell(result: RoundResult): KeptRound {
  const round = kept(result)
  const summary = `${round.hit.join(', ') || 'nothing hit'} · ${round.sessions} sessions · ${(result.ms / 1000).toFixed(1)} s`
  process.stdout.write(`seed ${result.plan.seed}: ${round.violations.length === 0 ? 'ok' : 'VIOLATED'} · ${summary}\n`)
  for (const [violation, same] of Map.groupBy(round.violations, violation => violation)) {
    process.stdout.write(`  ${violation}${same.length > 1 ? ` (${same.length} times)` : ''}\n`)
  }
  if (values.trace) process.stdout.write(storyOf(result.history))
  return round
}

/** Called after every round, so that an interrupted run loses no results. */
function keepRound(key: string, round: KeptRound): void {
  keep(({ rounds: before }) => ({ rounds: { ...before, [key]: withEarlier(round, before[key]) } }))
}

/** Results of plants that no longer exist are dropped. */
function keepCaught(id: string, { rounds: count, by }: Caught): void {
  keep(before => {
    const all = { ...before.planted, [id]: { rounds: count, by: by.join(', ') } }
    const known = PLANTS.flatMap(plant => (all[plant.id] ? [[plant.id, all[plant.id]] as const] : []))
    return { planted: Object.fromEntries(known) as KeptResults['planted'] }
  })
}

function keep(change: (before: KeptResults) => Partial<KeptResults>): void {
  if (values.dry) return
  const node = process.versions.node.split('.', 1)[0] ?? ''
  const versions = { program: programVersion(), node, claude: claudeVersion() }
  changeResults(RESULTS_FILE, before => ({ ...before, versions, ...change(before) }))
}

/** Parses one mistake, several separated by commas, or `all`. */
function findPlants(text: string): readonly Plant[] {
  if (text === 'all') return PLANTS
  return text.split(',').map(id => {
    const known = ['all', ...PLANTS.map(plant => plant.id)].join(', ')
    return PLANTS.find(plant => plant.id === id) ?? fail(`--plant ${id}: there is no such mistake; there are ${known}`)
  })
}

/** Agents may still write there when the run is interrupted. An exception here would keep their daemons from being ended. */
function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  } catch {
    // the system cleans its temporary folder itself
  }
}

function claudeVersion(): string {
  const manifest = readFileSync(join(ROOT, 'package.json'), 'utf8')
  return (
    (JSON.parse(manifest) as { dependencies: Record<string, string> }).dependencies['@anthropic-ai/claude-agent-sdk'] ??
    ''
  )
}

/** Parses one step, several separated by commas, or `all`; each round takes one. */
function findPoints(text: string): readonly CrashPointName[] {
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
