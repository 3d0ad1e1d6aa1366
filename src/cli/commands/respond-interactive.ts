import { clockTime } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import type { OpenAsk, SessionView } from '../../domain/api.ts'
import type { AnswerEscalation, EscalationView } from '../../domain/escalation.ts'
import { isCutInput, reviewCommand } from '../../domain/shown-request.ts'
import { questionsIn } from '../../human/questions.ts'
import { readAnswer } from '../../human/read-answer.ts'
import { describeRule } from '../../policy/verdict/rules.ts'
import type { Client } from '../connection/client.ts'
import { type CommandContext, ExitCode, isInteractive } from '../context.ts'
import { confirm } from '../input.ts'
import { openKeyboard, openScreen } from '../live/terminal.ts'
import { terminalPerson } from '../live/terminal-person.ts'
import { agentName } from '../render/ask-lines.ts'
import { contextLines, wholeLines } from '../render/escalation-lines.ts'
import { cut, firstLine, pad, type Terminal, wrap } from '../render/text.ts'
import { asTyped, exactRule } from './respond-lines.ts'

/** The exit code when the person leaves without an answer. */
const LEFT = 130

/** Shows a decision in a box and reads the answer by keys. Ctrl+C leaves the decision open. */
export async function answerByKeys(
  row: EscalationView,
  client: Client,
  context: CommandContext,
): Promise<Pick<AnswerEscalation, 'verdict' | 'answer' | 'reason'>> {
  if (!isInteractive(context)) {
    throw new AppError('usage', { problem: '--interactive needs a terminal, and no --json', command: 'respond' })
  }
  const questions = row.kind === 'question' ? (questionsIn(row.input) ?? []) : []
  if (row.kind === 'question' ? questions.length === 0 : isCutInput(row.input)) {
    throw new AppError('answer_unfit', {
      number: row.number,
      problem: `it is too long to show here; answer with: pcc attach ${row.session_id}`,
    })
  }
  const review = reviewCommand(row)
  if (review !== undefined)
    throw new AppError('answer_unfit', { number: row.number, problem: `look at the work first: ${review}` })
  const { terminal } = context
  // The decision can be answered even if its session cannot be shown.
  const session = await client.request<SessionView>('GET', `/sessions/${row.session_id}`).catch(() => undefined)
  const screen = openScreen(process.stdout)
  const leave = new AbortController()
  using keyboard = openKeyboard(process.stdin, { onInterrupt: () => leave.abort(), onEnd: () => leave.abort() })
  screen.print(decisionBox(row, { agent: session?.agent, terminal, now: Date.now() }))
  const askContext = { signal: leave.signal, echo: (line: string) => screen.print([line]), whole: true }
  const reply = await terminalPerson(keyboard, screen, terminal).answer(toAsk(row, questions), askContext)
  if (!reply) throw new ExitCode(LEFT)
  return asTyped(reply, questions)
}

function toAsk(row: EscalationView, questions: ReturnType<typeof questionsIn> & object): OpenAsk {
  const { number, tool, target, risk, reason, reasons, context } = row
  const ask_id = String(number)
  if (row.kind === 'question') return { kind: 'question', ask_id, questions, suggestion: context.suggestion, number }
  return { kind: 'permission', ask_id, tool, target, risk, reason, reasons, number }
}

/** Wider boxes are hard to read. */
const WIDEST = 100

/** The request and its context in a frame. */
export function decisionBox(
  row: EscalationView,
  { agent, terminal, now }: { agent: string | undefined; terminal: Terminal; now: number },
): string[] {
  const width = Math.min(terminal.width, WIDEST) - 4
  const title = `[${clockTime(row.created_at)}] ⚠️  Human input needed for session ${row.session_id}`
  const speaker = agent === undefined ? 'The agent' : agentName(agent).speaker
  const asks = row.kind === 'question' ? `${speaker} asks:` : `${speaker} wants:`
  const intro = row.kind === 'question' || row.kind === 'permission' ? asks : 'It says:'
  const body = ['', intro, ...wholeLines(row, width - 2), ...contextLines(row, { width: width - 2, now }), '']
  const bar = terminal.paint('dim', '│')
  const rule = (left: string, right: string) => terminal.paint('dim', `${left}${'─'.repeat(width + 2)}${right}`)
  const line = (text: string) => `${bar} ${pad(cut(text, width), width)} ${bar}`
  return [
    rule('┌', '┐'),
    line(title),
    rule('├', '┤'),
    ...body.flatMap(text => wrap(text, width)).map(line),
    rule('└', '┘'),
  ]
}

interface AlwaysRequest {
  escalation: EscalationView
  reply: Pick<AnswerEscalation, 'verdict' | 'answer'>
  everywhere: boolean
  yes: boolean
}

/** What `--always` writes: together with the answer, or after it. */
export interface LastingAnswer {
  /** Sent with the answer to a question. */
  always?: AnswerEscalation['always']
  /** Writes the rule for a permission once the answer is accepted. */
  after?(): Promise<void>
}

/** Shows what will count from now on (the narrowest rule, or the answer to remember) and asks for confirmation. */
export async function prepareLastingAnswer(
  { escalation, reply, everywhere, yes }: AlwaysRequest,
  context: CommandContext,
): Promise<LastingAnswer> {
  if (escalation.kind === 'question') {
    const scope = everywhere ? 'everywhere' : 'project'
    for (const line of rememberedLines(escalation, reply, scope)) context.note(line)
    await confirm({ action: 'Remembering an answer', question: 'Always answer like this?', yes })
    return { always: scope }
  }
  if (everywhere) throw unfit(escalation, 'a rule counts everywhere; --everywhere is for questions')
  const exact = exactRule(escalation)
  if (!exact || reply.verdict === undefined)
    throw unfit(escalation, 'no rule can be written for exactly this; answer without --always')
  const rule = { effect: reply.verdict, ...exact }
  context.note(`This rule is added to yours, for every project: ${neutral(describeRule(rule))}`)
  await confirm({ action: 'Writing a rule', question: 'Write it?', yes })
  return {
    async after() {
      const { writeRule } = await import('./rules-actions.ts')
      await writeRule({ ...context, json: false, out: context.json ? context.note : context.out }, rule, {})
    },
  }
}

function rememberedLines(
  escalation: EscalationView,
  reply: AlwaysRequest['reply'],
  scope: 'project' | 'everywhere',
): string[] {
  const questions = questionsIn(escalation.input)
  if (!questions || reply.answer === undefined) throw unfit(escalation, 'only an answer can be remembered')
  const parsed = readAnswer({ ...reply, by: 'human' }, questions)
  if ('problem' in parsed) throw unfit(escalation, parsed.problem)
  const where = scope === 'everywhere' ? 'in every project' : `in ${neutral(escalation.project)}`
  return [
    `From now on ${where}, until you forget it:`,
    ...questions.map(({ question }, index) => {
      return `  ${firstLine(question)} > ${firstLine([parsed.answer?.[index] ?? ''].flat().join(', '))}`
    }),
  ]
}

function unfit({ number }: EscalationView, problem: string): AppError {
  return new AppError('answer_unfit', { number, problem })
}
