import type { ProcessFigures } from '../../../base/process/process-figures.ts'
import { commandOf } from '../../../base/process/process-table.ts'
import type { EventBody } from '../../../domain/event.ts'
import { eventOf } from '../../events/agent-event.ts'
import { record } from '../../record.ts'
import { trip } from '../trip.ts'
import { type Ended, endInTime } from './end-in-time.ts'
import { type Hog, hogIn } from './hog.ts'
import type { MemoryStep } from './memory.ts'

export interface MemoryLook {
  /** What the tree uses in all. */
  bytes: number
  tree: ProcessFigures[]
  all: ProcessFigures[]
  agent: number
  now: number
}

/** Takes an agent back under its cap: softly first, then the tool that grows, then all of it. */
export async function heedMemory(desk: Ended, { bytes, tree, all, agent, now }: MemoryLook): Promise<void> {
  const { run } = desk
  const { memory, settings } = run.guards
  const hog =
    bytes > settings.maxMemoryBytes ? hogIn(tree, { agent, all, capBytes: settings.maxMemoryBytes }) : undefined
  const step = memory.look(bytes, { now, hasHog: hog !== undefined })
  if (step === undefined || run.over) return
  const reason = `The agent uses ${inGb(bytes)} of memory with all that it started, ${inGb(settings.maxMemoryBytes)} are allowed (agents.max_memory_mb)${mostOf(hog)}`
  const event = eventOf(run, 'guard.tripped', { guard: 'memory', did: DID[step], reason }, 'daemon')
  await record(run, desk.parts, { events: [event], patch: {} })
  const next = `See what needs so much, or raise the cap: pcc config set agents.max_memory_mb ${Math.ceil((settings.maxMemoryBytes * 2) / 1_048_576)}; then: pcc resume ${run.id}`
  trip(run, { guard: 'memory', reason, next })
  await take(step, desk, hog)
}

async function take(step: MemoryStep, desk: Ended, hog: Hog | undefined): Promise<void> {
  if (step === 'kill_hog' && hog) kill(hog.group)
  // One that cannot be interrupted (a person has its terminal) is ended with the next step.
  if (step === 'interrupt') await desk.run.session?.interrupt().catch(() => undefined)
  if (step === 'end') endInTime(desk)
}

/** Gone in this instant: the next look says so. */
function kill(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // nothing is left of it
  }
}

const DID: Record<MemoryStep, EventBody<'guard.tripped'>['did']> = {
  pause: 'paused',
  kill_hog: 'killed',
  interrupt: 'interrupted',
  end: 'killed',
}

function mostOf(hog: Hog | undefined): string {
  const [first] = hog?.pids ?? []
  if (!hog || first === undefined) return ''
  const command = commandOf(first).replace(/\s+/g, ' ').slice(0, 120)
  return `; most of it, ${inGb(hog.bytes)}, is: ${command}`
}

function inGb(bytes: number): string {
  return bytes < 1_000_000_000 ? `${Math.round(bytes / 1_048_576)} MB` : `${(bytes / 1_073_741_824).toFixed(1)} GB`
}
