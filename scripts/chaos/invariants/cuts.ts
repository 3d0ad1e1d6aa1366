import type { History, Injected, ModelCall } from '../history.ts'
import type { FaultKind } from '../plan/fault-kinds.ts'
import type { SessionPlan } from '../plan/session-plan.ts'
import { bodiesOf } from './events.ts'

const SEEN_LATE_MS = 2_000

/** The faults of a kind that hit something; a fault that hit nothing excuses nothing. */
export function hitsOf({ faults }: History, kind: FaultKind): Injected[] {
  return faults.filter(fault => fault.kind === kind && fault.hit)
}

/** When the agents of a session were cut off: by the death of a daemon, or by their own death. */
export function cutsOf(history: History, name: string): number[] {
  const killed = hitsOf(history, 'kill-agent').filter(({ session }) => session === name)
  return [...history.deaths, ...killed.map(({ at, until = at }) => until)]
}

/** Whether the clock of daemon and agents differed from the runner's for a time. */
export function isTimeless(history: History): boolean {
  return hitsOf(history, 'clock-jump').length > 0
}

/** The vendor's calls of a session, in order. */
function callsOf({ calls }: History, { tasks }: SessionPlan): ModelCall[] {
  const names = tasks.map(({ token }) => `${token}.`)
  return calls.filter(({ turn }) => turn !== null && names.some(name => turn.startsWith(name)))
}

/** When a full disk ended the agents of a session: without a store nothing is allowed, and the model is told that its call was refused. */
function heldForDisk(history: History, name: string): number[] {
  const fills = hitsOf(history, 'disk-full')
  const id = history.rows.sessions.find(({ project }) => project.endsWith(`/${name}`))?.id
  return bodiesOf(history, 'session.ended')
    .filter(({ subject, body }) => subject === id && body.status === 'paused' && /disk is full/.test(body.reason))
    .map(({ time }) => time)
    .filter(time => fills.some(({ at }) => at <= time))
}

/**
 * Whether the call of a step was cut off: the vendor sent the reply with the call, and the agent was cut off before the next
 * request, by a death or by a full disk; or the tool itself was killed. A cut of another call of the session is no excuse.
 */
export function wasCut(history: History, session: SessionPlan, token: string): boolean {
  if (hitsOf(history, 'kill-tool').some(({ tool }) => tool === token)) return true
  const calls = callsOf(history, session)
  const cuts = [...cutsOf(history, session.name), ...heldForDisk(history, session.name)]
  return calls.some(({ turn, response, at }, place) => {
    if (response !== 'answer' || stepOf(turn, session) !== token) return false
    const next = calls[place + 1]?.at ?? Number.POSITIVE_INFINITY
    return cuts.some(cut => diedAfter(cut, history) <= next && Math.max(cut, aloneUntil(cut, history)) >= at)
  })
}

/** On a busy machine the runner notices a death late. The daemon was alive when it stored its last event before that, and may have died right after. */
function diedAfter(cut: number, history: History): number {
  if (!history.deaths.includes(cut)) return cut
  const stored = history.events.map(({ time }) => time).filter(time => time <= cut)
  return Math.max(cut - SEEN_LATE_MS, ...stored)
}

/** An agent that outlives its daemon for a moment may call the model, but its tools are not allowed to run until the next daemon is there. */
function aloneUntil(cut: number, history: History): number {
  const isDeath = history.deaths.includes(cut)
  const next = bodiesOf(history, 'daemon.started').find(({ time }) => time > cut)
  return isDeath && next ? next.time : cut
}

/** The step of a turn of the scenario (`plan/scenario.ts`). */
function stepOf(turn: string | null, { tasks }: SessionPlan): string | undefined {
  const [, first, later, place] = /^(.+?)(?:\.later\[(\d+)\])?\.turns\[(\d+)\]/.exec(turn ?? '') ?? []
  const task = later === undefined ? tasks.find(({ token }) => token === first) : tasks[Number(later)]
  const steps = (task?.steps ?? []).flatMap(step => (step.do === 'write' && step.insists ? [step, step] : [step]))
  return steps[Number(place)]?.token
}
