import type { EventOf, StoredEvent } from '../../domain/event.ts'
import { WRITING_TOOLS } from '../../domain/file-tools.ts'
import type { DeadEnd } from './command-lessons.ts'

/** What the gates taught about an attempt. Nothing of it is a text that anybody wrote: gates, files and outcomes only. */
export interface GateLesson extends DeadEnd {
  /** Whether it did not work, or did after all. */
  ok: boolean
  event: { id: number; time: number }
  evidence: string[]
}

type Verified = EventOf<'task.verified'>

/** More files say little about what was wrong. */
const MOST_FILES = 5

/**
 * What the verifications among the events of a session teach. `isNew` tells which events were not looked at before. Pure.
 *
 * - Work that was called done and did not pass a gate was called so too early; work that passes at once speaks against that.
 * - A change that did not pass, followed by one that did and touched other files, was not enough.
 * - A change that never passed before its task was given up does not work.
 */
export function findGateLessons(
  events: readonly StoredEvent[],
  { isNew, deadEnds }: { isNew(event: StoredEvent): boolean; deadEnds: readonly DeadEnd[] },
): GateLesson[] {
  const lessons: GateLesson[] = []
  let rounds: { event: Verified; files: string[] }[] = []
  let files: string[] = []
  for (const event of events) {
    if (event.kind === 'task.started') [rounds, files] = [[], []]
    if (event.kind === 'tool.finished' && event.body.ok && WRITING_TOOLS.has(event.body.tool))
      files.push(...[event.body.target].filter(isPath))
    if (event.kind === 'task.verified') {
      const round = { event, files: [...new Set(files)].sort() }
      const before = rounds.at(-1)
      if (isNew(event)) lessons.push(...learnFromRound(round, before, deadEnds))
      rounds.push(round)
      files = []
    }
    if (event.kind === 'task.failed' && isNew(event)) lessons.push(...giveUp(event, rounds))
  }
  return lessons
}

interface Round {
  event: Verified
  files: string[]
}

function learnFromRound(round: Round, before: Round | undefined, deadEnds: readonly DeadEnd[]): GateLesson[] {
  const { event, files } = round
  if (event.body.status === 'failed')
    return failedGates(event).map(gate => lessonOf({ trigger: `gate ${gate}`, ...CALLED_DONE(gate) }, [event], false))
  if (event.body.status !== 'passed') return []
  if (before?.event.body.status === 'failed') {
    const more = files.filter(file => !before.files.includes(file))
    if (more.length === 0 || before.files.length === 0) return []
    return failedGates(before.event).map(gate =>
      lessonOf(
        { ...notEnough(gate, before.files), instead: `${listed(more)} had to change, too.` },
        [before.event, event],
        false,
      ),
    )
  }
  // It passed at once: what was known to fail here works after all.
  const passed = event.body.checks.filter(({ status }) => status === 'passed').map(({ gate }) => gate)
  const triggers = new Set(passed.flatMap(gate => [`gate ${gate}`, notEnough(gate, files).trigger]))
  return deadEnds.filter(({ trigger }) => triggers.has(trigger)).map(known => lessonOf(known, [event], true))
}

function giveUp(event: EventOf<'task.failed'>, rounds: readonly Round[]): GateLesson[] {
  const last = rounds.at(-1)
  const files = [...new Set(rounds.flatMap(round => round.files))].sort()
  if (last?.event.body.status !== 'failed' || files.length === 0) return []
  return failedGates(last.event).map(gate =>
    lessonOf({ ...notEnough(gate, files), instead: null }, [last.event, event], false),
  )
}

const CALLED_DONE = (gate: string) => ({
  text: `Work that was called done did not pass the gate \`${gate}\`.`,
  instead: 'run what it runs before you say that you are done.',
})

function notEnough(gate: string, files: readonly string[]): Pick<DeadEnd, 'trigger' | 'text'> {
  const text = `A change of ${listed(files)} alone did not pass the gate \`${gate}\`.`
  return { trigger: `gate ${gate}: ${files.slice(0, MOST_FILES).join(' ')}`, text }
}

function lessonOf(known: DeadEnd, events: readonly (Verified | EventOf<'task.failed'>)[], ok: boolean): GateLesson {
  const [last] = events.slice(-1)
  const evidence = events.map(({ id }) => `event:${id}`)
  return { ...known, ok, event: { id: last?.id ?? 0, time: last?.time ?? 0 }, evidence }
}

/** A gate that failed before the work too says nothing about it. */
function failedGates({ body }: Verified): string[] {
  const failed = body.checks.filter(({ status, failed_before }) => status === 'failed' && !failed_before)
  return failed.map(({ gate }) => gate).filter(isPath)
}

function listed(files: readonly string[]): string {
  const names = files.slice(0, MOST_FILES).map(file => `\`${file}\``)
  const more = files.length > MOST_FILES ? [`${files.length - MOST_FILES} more`] : []
  return [...names, ...more].join(', ')
}

/** An agent chooses the names of its files: one that says more than a name is left out. */
function isPath(text: string): boolean {
  return /^[\w@.+/-]{1,120}$/.test(text) && !text.startsWith('/') && !text.includes('..')
}
