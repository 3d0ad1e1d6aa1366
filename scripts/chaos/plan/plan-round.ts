import { CRASH_POINTS, type CrashPointName } from '../../../src/base/crash-point.ts'
import { FAULT_KINDS, type FaultKind } from './fault-kinds.ts'
import { type Random, randomFrom } from './random.ts'
import { planRun, type RunWork } from './run-plan.ts'
import { planSession, type SessionPlan } from './session-plan.ts'

/** One thing that goes wrong. */
export interface FaultPlan {
  kind: FaultKind
  /** When, from the moment the sessions are started. */
  atMs: number
  /** How long it lasts, where it lasts. */
  forMs: number
  /** Which session it is about, by its place. */
  session: number
  /** Of `crash-point`: the step, and at which time it is passed. */
  point?: { name: CrashPointName; nth: number } | undefined
}

/** Everything about a round that is left to chance, decided beforehand. */
export interface RoundPlan {
  seed: number
  sessions: SessionPlan[]
  faults: FaultPlan[]
  /** The daemon is kept by its small parent, and not started again by whoever finds it gone. */
  parent?: boolean
  /** Tasks that work in worktrees and are merged. */
  run?: RunWork | undefined
}

/** Twenty at once in every so many rounds; five of them have a place, the others stand in line. */
const CROWD = 20
const CROWD_EVERY = 25

/** The plan of a round. Pure: one seed, one plan, on every machine. */
export function planRound(seed: number): RoundPlan {
  const random = randomFrom(seed)
  const crowd = seed % CROWD_EVERY === 0
  const count = crowd ? CROWD : random.int(3, 5)
  const faults = planFaults(random, { count, seed })
  const needs = needsOf(faults)
  // At most one of a round meets a limit: whoever waits for a reset takes seconds that other rounds can use.
  const limited = needs.limit || (!crowd && random.chance(0.2)) ? random.int(0, count - 1) : -1
  const stormy = random.chance(0.35)
  const sessions = Array.from({ length: count }, (_, place) =>
    planSession(place, random, {
      limited: place === limited,
      small: crowd,
      stormy,
      asks: needs.question && place === 0,
      queues: needs.queue && place === 0,
    }),
  )
  const kept = planParent(seed)
  const { run, faults: ofRun } = planRun(seed, faults)
  const all = [...faults, ...kept.faults, ...ofRun].sort((a, b) => a.atMs - b.atMs)
  return { seed, sessions: withFaults(sessions, faults), faults: all, parent: kept.parent, ...(run && { run }) }
}

/** Every fourth round, from numbers of their own: what a seed meant before there were such rounds it still means. */
function planParent(seed: number): { parent: boolean; faults: FaultPlan[] } {
  const random = randomFrom(seed ^ 0x5bd1e995)
  if (!random.chance(0.25)) return { parent: false, faults: [] }
  const fault: FaultPlan = {
    kind: 'kill-parent',
    atMs: random.int(100, 3_500),
    forMs: random.int(300, 1_500),
    session: 0,
  }
  return { parent: true, faults: random.chance(0.7) ? [fault] : [] }
}

/** What must be there for a daemon to come to the step at which it is to die. */
function needsOf(faults: FaultPlan[]) {
  const name = faults.find(({ point }) => point)?.point?.name ?? ''
  return {
    limit: /^(limit|wake|resume|checkpoint)\./.test(name),
    question: /^(question|answer)\./.test(name),
    queue: name.startsWith('next-task.'),
  }
}

/** With a clock that was set back, a reset that the vendor named by the clock is rightly far away. */
function withFaults(sessions: SessionPlan[], faults: FaultPlan[]): SessionPlan[] {
  if (!faults.some(({ kind }) => kind === 'clock-jump')) return sessions
  return sessions.map(session => ({
    ...session,
    tasks: session.tasks.map(task => ({ ...task, steps: task.steps.filter(step => step.do !== 'limit') })),
  }))
}

/** Points that only a daemon which takes over passes, and that its start passes. */
export function isOfRecovery(name: CrashPointName): boolean {
  return name.startsWith('recover.')
}

/** Passed many times in a round; the others a few times. */
const FREQUENT: ReadonlySet<CrashPointName> = new Set([
  'record.before-commit',
  'tool.before-verdict',
  'tool.after-verdict',
])

/** The vendor's storms are part of what a session is told, not of what is done to it. */
const AT_RANDOM = FAULT_KINDS.filter(kind => !['vendor-storm', 'crash-point', 'kill-parent'].includes(kind))

function planFaults(random: Random, { count, seed }: { count: number; seed: number }): FaultPlan[] {
  const when = () => ({
    atMs: random.int(100, 3_500),
    forMs: random.int(300, 1_500),
    session: random.int(0, count - 1),
  })
  const others = Array.from({ length: random.int(0, 2) }, () => ({ ...when(), kind: random.pick(AT_RANDOM) }))
  // A daemon is told one step at most. They take turns, so that each comes in every so many rounds.
  const isPoint = random.chance(0.6)
  if (!isPoint) return [...others, { ...when(), kind: random.pick(AT_RANDOM) }]
  const point = planPoint(random, seed)
  // Only who takes over from a daemon that was killed comes to the steps of recovery.
  const killed = isOfRecovery(point.name) ? [{ ...when(), kind: 'kill-daemon' as const }] : []
  return [...others.slice(killed.length), ...killed, { ...when(), kind: 'crash-point', point }]
}

function planPoint(random: Random, seed: number): NonNullable<FaultPlan['point']> {
  const name = CRASH_POINTS[seed % CRASH_POINTS.length] ?? 'settle.before-commit'
  return { name, nth: FREQUENT.has(name) ? random.int(1, 12) : 1 }
}
