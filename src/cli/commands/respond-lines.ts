import { neutral } from '../../base/neutral.ts'
import { quoteForShell } from '../../base/words.ts'
import type { AnswerEscalation, EscalationView, TaskAfterAnswer } from '../../domain/escalation.ts'
import type { QuestionItem } from '../../domain/session.ts'
import type { CommandContext } from '../context.ts'
import type { AskReply } from '../live/asks.ts'
import { loadSettings } from '../load-settings.ts'
import { isLanding, reviewedTask, type ShownEscalation, wholeLines } from '../render/escalation-lines.ts'
import { wrap } from '../render/text.ts'

interface Answered {
  escalation: ShownEscalation
  remembered: boolean
  /** Whether the session was waiting for the answer and goes on now. */
  wasOpen: boolean
  /** The answer was given with `--always`, which reports by itself what it wrote. */
  lasts?: boolean
  /** How long an answer is remembered (`memory.answers_ttl_days`). */
  days: number
  /** What became of the task of a refused request. */
  task?: TaskAfterAnswer
}

/** How many days an answer in this project is remembered. */
export async function readMemoryDays(project: string, { paths, env }: Pick<CommandContext, 'paths' | 'env'>) {
  return (await loadSettings({ paths, env, project })).config.memory.answers_ttl_days
}

/** The output of `pcc respond`: what was answered and what that changes. */
export function answeredLines(answered: Answered, width: number): string[] {
  const { escalation, wasOpen } = answered
  return [
    heading(escalation, wasOpen),
    ...wholeLines(escalation, width),
    ...(escalation.answer ?? []).flatMap(part =>
      wrap(`> ${neutral([part].flat().join(', '))}`, width - 2).map(line => `  ${line}`),
    ),
    ...(wasOpen ? nowLines(answered) : laterLines(answered)),
  ]
}

/** An approval of a request that was refused earlier does not run it by itself, and the heading must say so. */
function heading({ number, verdict, answer, session_id, allowed_until }: ShownEscalation, wasOpen: boolean): string {
  const name = `decision ${number} of session ${session_id}`
  if (answer) return `Answered: ${name}`
  if (verdict !== 'allow') return `Denied: ${name}`
  if (allowed_until !== null) return `Allowed once: ${name}`
  return wasOpen ? `Approved: ${name}` : `Noted: it was refused then; your yes to ${name} does not run it`
}

/** What happens now to a session that was waiting for the answer. */
function nowLines({ escalation, remembered, lasts, days }: Answered): string[] {
  const { kind, verdict, session_id, sessions, risk, project } = escalation
  if (isLanding(escalation) && verdict === 'deny')
    return [`The task is given up; try it again with: pcc task reset ${reviewedTask(escalation)}`]
  if (kind === 'error' && verdict === 'deny')
    return [`The session stays as it is; go on with: pcc resume ${session_id}`]
  if (isLanding(escalation)) {
    const task = reviewedTask(escalation)
    return [`The checks and the merge of ${task} are tried again; see what comes of it: pcc task show ${task}`]
  }
  if (kind === 'error') return [`The session tries again; watch it with: pcc attach ${session_id}`]
  if (kind === 'review')
    return [
      verdict === 'deny' ? 'It goes back to its agent.' : 'It is merged as soon as its turn comes: pcc merge list',
    ]
  const watch =
    sessions.length > 1
      ? `${sessions.length} sessions go on: ${sessions.join(', ')}`
      : `The session goes on; watch it with: pcc attach ${session_id}`
  if (kind === 'question' && remembered) {
    const period = lasts ? 'until you forget it' : `for ${days === 1 ? '1 day' : `${days} days`}`
    return [watch, `Remembered ${period} in this project (${neutral(project)}): pcc answers list`]
  }
  if (kind === 'question' || verdict === 'deny' || lasts) return [watch]
  return [watch, `It was for this one call: ${risk} requests are asked about every time.`]
}

/** What the answer to an already refused request changes for later requests. */
function laterLines({ escalation, remembered, lasts, task }: Answered): string[] {
  const { verdict, project, risk, allowed_until } = escalation
  if (allowed_until !== null) return redoLines(escalation, task)
  if (verdict === 'deny' && task === 'goes_on')
    return [`The task goes on without it; watch it with: pcc attach ${escalation.session_id}`]
  if (lasts) return []
  if (remembered) {
    const effect = verdict === 'allow' ? 'is allowed from now on' : 'is refused from now on'
    return [`Remembered: the same request in ${neutral(project)} ${effect}, without asking you.`]
  }
  if (verdict === 'deny') return ['It stays refused; this session does not list it again.']
  const why = risk === 'HIGH' ? 'HIGH requests are asked about every time' : 'the answer is for this one call alone'
  return [
    `Not remembered: ${why}. The next time it is asked about or refused again.`,
    ...(escalation.again ? [`Allow it once and do the task again: pcc respond ${escalation.number} --again`] : []),
    ...suggestRule(escalation),
  ]
}

/** What happens now to the task of a request that is allowed once. */
function redoLines({ task_id, session_id }: ShownEscalation, task: TaskAfterAnswer | undefined): string[] {
  const once = 'Exactly this request is allowed, once, within a day.'
  if (task === 'goes_on') return [once, `The task goes on; watch it with: pcc attach ${session_id}`]
  if (task === 'at_work')
    return [once, `Its agent is at work; it counts when the agent asks again: pcc attach ${session_id}`]
  return [once, `The task is done again; watch it with: pcc attach ${task_id}`]
}

/** A rule allows a HIGH request only as that exact request, and only if it can be written on one line without wildcards. */
function suggestRule(escalation: ShownEscalation): string[] {
  const exact = exactRule(escalation)
  if (!exact) return ['No rule can allow exactly this; if you want it, do it yourself.']
  return [`To allow exactly this: pcc rules add allow ${quoteForShell(exact.tool)} ${quoteForShell(exact.match)}`]
}

/**
 * The narrowest rule for a request: it matches exactly this text. `undefined` when the text cannot be written on one line
 * without wildcards.
 */
export function exactRule({
  kind,
  tool,
  normalised,
}: Pick<EscalationView, 'kind' | 'tool' | 'normalised'>): { tool: string; match: string } | undefined {
  const match = normalised.slice(tool.length + 1)
  const isWritable = kind === 'permission' && match !== '' && !/[*\p{Cc}\p{Cf}\u2028\u2029…]/u.test(match)
  return isWritable ? { tool, match } : undefined
}

/** Converts an answer by keys to the arguments of `pcc respond`. Options are given by number, which is never ambiguous. */
export function asTyped(
  { verdict, answers, reason }: AskReply,
  questions: readonly QuestionItem[],
): Pick<AnswerEscalation, 'verdict' | 'answer' | 'reason'> {
  const withReason = reason === undefined ? {} : { reason }
  if (!answers) return { ...(verdict && { verdict }), ...withReason }
  return { answer: questions.map(item => answerText(answers[item.question] ?? '', item)), ...withReason }
}

function answerText(answer: string | string[], { options }: QuestionItem): string {
  const chosen = [answer].flat()
  const numbers = chosen.map(label => options.findIndex(option => option.label === label) + 1)
  return numbers.every(number => number > 0) ? numbers.join(',') : chosen.join(', ')
}
