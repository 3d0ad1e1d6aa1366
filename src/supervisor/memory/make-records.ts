import { createHash } from 'node:crypto'
import { isAutomatic } from '../../domain/deciders.ts'
import type { Escalation } from '../../domain/escalation.ts'
import type { EventOf } from '../../domain/event.ts'
import {
  type MemoryRecord,
  type NewRecord,
  newRecord,
  type RecordKind,
  type RecordOf,
  recordId,
} from '../../domain/memory.ts'
import { isToolOnly } from '../../human/precedents.ts'
import { questionsIn } from '../../human/questions.ts'
import { type CommandLesson, type DeadEnd, failsHere, type SeenStep } from './command-lessons.ts'
import type { GateLesson } from './gate-lessons.ts'

/** Where and by whom something was learned. */
export interface Learned {
  /** The key of the project. */
  project: string
  /** The key of its folder: what is allowed in one clone says nothing about another, which may hold anybody's code. */
  folder: string
  session: string
  task: string | null
  /** Our name of the agent. */
  agent: string | null
  role: string | null
  actor: 'daemon' | 'hook'
}

/** What makes a record: the same cause makes the same id, so that what is learned twice is stored once. */
interface Cause {
  key: string
  source: string
  time: number
}

const causeOf = ({ id, time }: { id: number; time: number }): Cause => ({
  key: `event:${id}`,
  source: `event:${id}`,
  time,
})

type Fields<Kind extends RecordKind> = Omit<RecordOf<Kind>, keyof RecordOf<RecordKind>> & Partial<RecordOf<RecordKind>>

/** Makes a record of the project. */
function recordOf<Kind extends RecordKind>(
  kind: Kind,
  about: Learned,
  cause: Cause,
  fields: Fields<Kind>,
): MemoryRecord {
  const { project: of, session, task, agent: agent_id, role, actor } = about
  const { evidence = [cause.source], ...said } = fields
  // The files that a fact speaks of may be others when it is learned again.
  const same = { ...said, about: undefined }
  return newRecord({
    ...{ id: recordId(JSON.stringify([kind, cause.key, cause.time, session, same])), time: cause.time },
    ...{ kind, scope: 'project', of, actor, agent_id, role, session, task, outcome: 'success', authority: 'agent' },
    ...{ ...said, evidence },
  } as NewRecord)
}

/** What commands taught. The commands are the agent's words and the causes ours; no output of a tool is among it. */
export function recordsOfLesson(lesson: CommandLesson, about: Learned): MemoryRecord[] {
  switch (lesson.kind) {
    case 'fix': {
      const { failed, worked } = lesson
      const [command = '', fix = ''] = [failed.command, worked.command]
      const evidence = [failed.source, worked.source]
      const context = `${failsHere(command)}${because(failed)}`
      return [
        recordOf('episode', about, worked, {
          ...{ event_type: 'command', tool: 'Bash', inputs_hash: hashOf(command), evidence, context },
          ...{ decision: 'the agent tried another command', action: command, fix, importance: 0.7 },
          rationale: 'nothing but the command was changed in between',
        }),
        procedureOf(about, worked, { trigger: command, action: fix, ok: true, evidence }),
      ]
    }
    case 'dead_end': {
      const last = lesson.failed.at(-1)
      if (!last?.command) return []
      return [
        recordOf('anti_pattern', about, last, {
          trigger: { kind: 'failure', text: last.command },
          text: `${failsHere(last.command)}${because(last)}`,
          ...{ instead: null, outcome: 'failure', evidence: lesson.failed.map(({ source }) => source) },
        }),
      ]
    }
    case 'works_now': {
      const { known, step } = lesson
      return [deadEndOf(known, { about, cause: step, evidence: [step.source], ok: true })]
    }
    case 'tried':
      return [procedureOf(about, lesson.step, { ...lesson, evidence: [lesson.step.source] })]
  }
}

/** What gates taught, with their word. */
export function recordsOfGates(lessons: readonly GateLesson[], about: Learned): MemoryRecord[] {
  return lessons.map(({ event, evidence, ok, ...known }) =>
    deadEndOf(known, { about, cause: causeOf(event), evidence, ok, authority: 'gate' }),
  )
}

interface DeadEndSeen {
  about: Learned
  cause: Cause
  evidence: string[]
  /** It worked after all. */
  ok: boolean
  authority?: 'gate'
}

function deadEndOf({ trigger, text, instead }: DeadEnd, seen: DeadEndSeen): MemoryRecord {
  const { about, cause, evidence, ok, authority = 'agent' } = seen
  return recordOf('anti_pattern', about, cause, {
    ...{ trigger: { kind: 'failure', text: trigger }, text, instead, evidence, authority },
    outcome: ok ? 'success' : 'failure',
  })
}

function because({ issue }: SeenStep): string {
  return issue === undefined ? '.' : `: ${issue}`
}

interface TriedFix {
  trigger: string
  action: string
  ok: boolean
  evidence: string[]
}

function procedureOf(about: Learned, step: SeenStep, { trigger, action, ok, evidence }: TriedFix): MemoryRecord {
  return recordOf('procedure', about, step, {
    ...{ event_type: 'command', trigger: { kind: 'failure', text: trigger }, action, evidence },
    outcome: ok ? 'success' : 'failure',
  })
}

/** The fixes of a session whose work a gate has passed count once more, with the word of the gate. */
export function confirmFixes(
  fixes: readonly Extract<CommandLesson, { kind: 'fix' }>[],
  about: Learned,
  gate: { id: number; time: number },
): MemoryRecord[] {
  return fixes.map(({ failed, worked }) =>
    recordOf('procedure', about, causeOf(gate), {
      ...{ event_type: 'command', trigger: { kind: 'failure', text: failed.command ?? '' } },
      ...{
        action: worked.command ?? '',
        authority: 'gate',
        evidence: [`event:${gate.id}`, failed.source, worked.source],
      },
    }),
  )
}

/**
 * What a person's answer teaches. An answer to a call of MEDIUM risk is a success or failure of allowing such calls; HIGH is asked each time,
 * and of a call of which only the tool is known nothing is learned. An answer to a question is an episode, and a fact if it
 * counts again. What is used when the very same is asked again stays in the table of remembered answers.
 */
export function recordsOfAnswer(
  event: EventOf<'escalation.answered'>,
  row: Escalation,
  about: Learned,
  filesAbout: (text: string) => RecordOf<'fact'>['about'] = () => [],
): MemoryRecord[] {
  const { by, verdict, answer, remembered, number } = event.body
  if (isAutomatic(by)) return []
  const cause = causeOf(event)
  if (row.kind === 'permission') {
    if (verdict === undefined || row.risk !== 'MEDIUM' || isToolOnly(row.tool, row.normalised)) return []
    return [
      recordOf('procedure', { ...about, project: about.folder }, cause, {
        ...{ event_type: 'permission', trigger: { kind: 'request', text: row.normalised }, action: 'allow' },
        ...{ outcome: verdict === 'allow' ? 'success' : 'failure', ...PERSON },
      }),
    ]
  }
  if (row.kind !== 'question' || !answer) return []
  return (questionsIn(row.input) ?? []).flatMap(({ question }, index): MemoryRecord[] => {
    const said = [answer[index] ?? ''].flat().join(', ')
    if (said === '') return []
    // The question is the agent's words: they must not pass for those of the person.
    const asked = `An agent asked: ${cutText(question)}`
    const episode = recordOf('episode', about, cause, {
      ...{ event_type: 'question', tool: row.tool, inputs_hash: hashOf(question), context: asked, ...PERSON },
      ...{ decision: 'The person said:', action: said, fix: null, rationale: 'the person’s own answer' },
    })
    const text = `${asked} The person said: ${said}`
    const fact = recordOf('fact', about, cause, {
      ...{ category: 'decision', subject: question.slice(0, 200).toWellFormed(), about: filesAbout(text), ...PERSON },
      ...{ text, source: `the person’s answer to decision ${number}` },
    })
    return remembered ? [fact, episode] : [episode]
  })
}

/** How a task ended, to compare tasks with recall and without. */
export function resultOf(
  event: EventOf<'task.finished'> | EventOf<'task.failed'>,
  about: Learned,
  counts: Pick<RecordOf<'result'>, 'arm' | 'retries' | 'corrections' | 'tool_calls' | 'cost_usd'>,
): MemoryRecord {
  const { task_id, attempt } = event.body
  return recordOf('result', { ...about, task: task_id }, causeOf(event), {
    ...counts,
    outcome: event.kind === 'task.finished' ? 'success' : 'failure',
    ...{ authority: 'gate', confidence: 1, evidence: [`event:${event.id}`, `attempt:${task_id}/${attempt}`] },
  })
}

/** What a person said counts most. */
const PERSON = { actor: 'person', authority: 'person', confidence: 1, importance: 0.9 } as const

const LONGEST_QUESTION = 400

function cutText(text: string): string {
  return text.length <= LONGEST_QUESTION ? text : `${text.slice(0, LONGEST_QUESTION).toWellFormed()}…`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
