import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { programVersion } from '../src/base/version.ts'
import { thisMachine } from './chaos/faults/machine.ts'
import type { Violation } from './chaos/invariants/violation.ts'
import { planRound } from './chaos/plan/plan-round.ts'
import { PLANTS } from './chaos/plants/all.ts'
import { catchPlant } from './chaos/plants/catch-plant.ts'
import type { Plant } from './chaos/plants/plant.ts'
import { copySource } from './chaos/plants/source-copy.ts'
import { writePlantTable } from './chaos/plants/table.ts'
import { ALL_POINTS, type KeptResults, type KeptRound, kept, readResults, writeResults } from './chaos/results.ts'
import { type RoundResult, runRound } from './chaos/round.ts'
import { table } from './chaos/table.ts'
import { storyOf } from './chaos/tell.ts'
import { ROOT } from './places.ts'

// npm run chaos -- [--rounds N] [--seed S] [--minutes M] [--plant mistake|all] [--trace] [--dry]
// A round is decided by its seed: the one that failed is replayed with --seed <its seed> --rounds 1.

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    plant: { type: 'string' },
    trace: { type: 'boolean', default: false },
    dry: { type: 'boolean', default: false },
  },
})
const plants = values.plant === undefined ? [] : named(values.plant)
/** A mistake that is not seen in so many rounds made for it is not seen. */
const rounds = wholeNumber('rounds', values.rounds ?? (plants.length > 0 ? '15' : '10'))
const seed = values.seed === undefined ? Math.floor(Date.now() / 1000) % 1_000_000 : wholeNumber('seed', values.seed)
const deadline = values.minutes === undefined ? Infinity : Date.now() + wholeNumber('minutes', values.minutes) * 60_000
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130))

const file = join(ROOT, 'bench', 'chaos.json')
const page = join(ROOT, 'docs', 'reliability.md')
const machine = thisMachine()
const agentHome = mkdtempSync(join(tmpdir(), 'pcc-chaos-agent-'))
process.once('exit', () => removed(agentHome))
const passedFile = join(agentHome, 'passed')
process.exitCode = plants.length > 0 ? await hunt(plants) : await playRounds()

/** Ordinary rounds. 1 where one of them was violated. */
async function playRounds(): Promise<number> {
  const done: KeptRound[] = []
  for (let nth = 0; nth < rounds && Date.now() < deadline; nth++) {
    const result = await runRound(planRound(seed + nth), { machine, agentHome, passedFile })
    done.push(kept(result))
    tell(result)
    keep({ rounds: { [result.plan.seed]: kept(result) } })
  }
  const unreached = ALL_POINTS.filter(name => !passed().has(name))
  process.stdout.write(`\n${table({ rounds: done, notRun: machine.notRun })}\n`)
  process.stdout.write(`crash points passed: ${ALL_POINTS.length - unreached.length} of ${ALL_POINTS.length}\n`)
  if (unreached.length > 0) process.stdout.write(`not passed in this run: ${unreached.join(', ')}\n`)
  return Number(done.some(({ violations }) => violations.length > 0))
}

/** Rounds with a mistake in the daemon. 1 where one of the mistakes was not seen. */
async function hunt(all: readonly Plant[]): Promise<number> {
  using copy = copySource()
  const missed: string[] = []
  const plain = new Map<string, Violation[]>()
  for (const plant of all) {
    if (Date.now() > deadline) break
    process.stdout.write(`${plant.id}: ${plant.hurts}\n`)
    const play: Parameters<typeof catchPlant>[1]['play'] = (plan, source) =>
      runRound(plan, { machine, agentHome, passedFile, source })
    const caught = await catchPlant(plant, { copy, plain, seed, rounds, play, played: tell })
    if (caught.by.length === 0) missed.push(plant.id)
    const how = caught.by.length > 0 ? `caught by ${caught.by.join(', ')}` : 'NOT CAUGHT'
    process.stdout.write(`${plant.id}: ${how} after ${caught.rounds} rounds\n\n`)
    keep({ planted: { [plant.id]: { rounds: caught.rounds, by: caught.by.join(', ') } } })
    if (!values.dry) writePlantTable(page, readResults(file))
  }
  if (missed.length > 0) process.stdout.write(`not caught: ${missed.join(', ')}\n`)
  return Number(missed.length > 0)
}

function tell(result: RoundResult): void {
  const round = kept(result)
  const told = `${round.hit.join(', ') || 'nothing hit'} · ${round.sessions} sessions · ${(result.ms / 1000).toFixed(1)} s`
  process.stdout.write(`seed ${result.plan.seed}: ${round.violations.length === 0 ? 'ok' : 'VIOLATED'} · ${told}\n`)
  for (const violation of round.violations) process.stdout.write(`  ${violation}\n`)
  if (values.trace) process.stdout.write(storyOf(result.history))
}

/** After every round, so that what was found is not lost with the run. */
function keep(more: Partial<Pick<KeptResults, 'rounds' | 'planted'>>): void {
  if (values.dry) return
  const before = readResults(file)
  const known = Object.entries({ ...before.planted, ...more.planted }).filter(([id]) =>
    PLANTS.some(each => each.id === id),
  )
  writeResults(file, {
    versions: {
      program: programVersion(),
      node: process.versions.node.split('.', 1)[0] ?? '',
      claude: claudeVersion(),
    },
    planted: Object.fromEntries(known.sort(([a], [b]) => a.localeCompare(b))),
    unreached: before.unreached.filter(name => !passed().has(name)),
    rounds: { ...before.rounds, ...more.rounds },
  })
}

function named(id: string): readonly Plant[] {
  const found = PLANTS.filter(plant => id === 'all' || plant.id === id)
  if (found.length > 0) return found
  fail(`--plant ${id}: there is no such mistake; there are all, ${PLANTS.map(each => each.id).join(', ')}`)
}

function passed(): ReadonlySet<string> {
  try {
    return new Set(readFileSync(passedFile, 'utf8').split('\n'))
  } catch {
    return new Set() // no daemon came to any of them yet
  }
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

function wholeNumber(name: string, text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : fail(`--${name} ${text}: it is not a whole number`)
}

function fail(problem: string): never {
  process.stderr.write(`${problem}\n`)
  process.exit(2)
}
