import { AppError } from '../../base/errors.ts'
import type { OpenAsk } from '../../domain/api.ts'
import type { AnswerEscalation, EscalationView } from '../../domain/escalation.ts'
import { questionsIn } from '../../human/questions.ts'
import { readAnswer } from '../../human/read-answer.ts'
import { describeRule } from '../../policy/verdict/rules.ts'
import { type CommandContext, ExitCode, isInteractive } from '../context.ts'
import { confirm } from '../input.ts'
import { openKeyboard, openScreen } from '../live/terminal.ts'
import { terminalPerson } from '../live/terminal-person.ts'
import { contextLines, wholeLines } from '../render/escalation-lines.ts'
import { clockTime } from '../render/format.ts'
import { cut, firstLine, neutral, pad, type Terminal, wrap } from '../render/text.ts'
import { asTyped, exactRule } from './respond-lines.ts'

/** Left without an answer. */
const LEFT = 130

/** Shows a decision in a box and takes the answer by keys. Ctrl+C leaves it as it is. */
export async function answerByKeys(
  row: EscalationView,
  context: CommandContext,
): Promise<Pick<AnswerEscalation, 'verdict' | 'answer' | 'reason'>> {
  if (!isInteractive(context)) {
    throw new AppError('usage', { problem: '--interactive needs a terminal, and no --json', command: 'respond' })
  }
  const questions = row.kind === 'question' ? (questionsIn(row.input) ?? []) : []
  if (row.kind === 'question' && questions.length === 0) {
    throw new AppError('answer_unfit', {
      number: row.number,
      problem: `it is too long for here; answer with: pcc attach ${row.session_id}`,
    })
  }
  const { terminal } = context
  const screen = openScreen(process.stdout)
  const leave = new AbortController()
  using keyboard = openKeyboard(process.stdin, { onInterrupt: () => leave.abort(), onEnd: () => leave.abort() })
  screen.print(decisionBox(row, terminal, Date.now()))
  const moment = { signal: leave.signal, echo: (line: string) => screen.print([line]) }
  const reply = await terminalPerson(keyboard, screen, terminal).answer(askOf(row, questions), moment)
  if (!reply) throw new ExitCode(LEFT)
  return asTyped(reply, questions)
}

function askOf(row: EscalationView, questions: ReturnType<typeof questionsIn> & object): OpenAsk {
  const { number, tool, target, risk, reason, reasons, context } = row
  const ask_id = String(number)
  if (row.kind === 'question') return { kind: 'question', ask_id, questions, suggestion: context.suggestion, number }
  return { kind: 'permission', ask_id, tool, target, risk, reason, reasons, number }
}

/** Wider boxes are hard to read. */
const WIDEST = 100

/** Everything a person judges by, in a frame. */
export function decisionBox(row: EscalationView, terminal: Terminal, now: number): string[] {
  const width = Math.min(terminal.width, WIDEST) - 4
  const title = `[${clockTime(row.created_at)}] ⚠️  Human input needed for session ${row.session_id}`
  const asks = row.kind === 'question' ? 'Claude asks:' : row.kind === 'permission' ? 'Claude wants:' : 'It says:'
  const body = ['', asks, ...wholeLines(row, width - 2), ...contextLines(row, { width: width - 2, now }), '']
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

interface Always {
  asked: EscalationView
  said: Pick<AnswerEscalation, 'verdict' | 'answer'>
  everywhere: boolean
  yes: boolean
}

/** What `--always` writes: with the answer itself, or after it. */
export interface LastingAnswer {
  /** Goes with the answer to a question. */
  always?: AnswerEscalation['always']
  /** Writes the rule of a permission, once the answer is in. */
  after?(): Promise<void>
}

/** Shows what will count from now on and asks whether that is wanted: the narrowest rule, or the answer to remember. */
export async function always(
  { asked, said, everywhere, yes }: Always,
  context: CommandContext,
): Promise<LastingAnswer> {
  if (asked.kind === 'question') {
    const scope = everywhere ? 'everywhere' : 'project'
    for (const line of rememberedLines(asked, said, scope)) context.note(line)
    await confirm({ action: 'Remembering an answer', question: 'Always answer like this?', yes })
    return { always: scope }
  }
  if (everywhere) throw unfit(asked, 'a rule counts everywhere; --everywhere is for questions')
  const exact = exactRule(asked)
  if (!exact || said.verdict === undefined)
    throw unfit(asked, 'no rule can be written for exactly this; answer without --always')
  const rule = { effect: said.verdict, ...exact }
  context.note(`This rule is added to yours, for every project: ${neutral(describeRule(rule))}`)
  await confirm({ action: 'Writing a rule', question: 'Write it?', yes })
  return {
    async after() {
      const { writeRule } = await import('./rules-actions.ts')
      await writeRule({ ...context, json: false, out: context.json ? context.note : context.out }, rule, {})
    },
  }
}

function rememberedLines(asked: EscalationView, said: Always['said'], scope: 'project' | 'everywhere'): string[] {
  const questions = questionsIn(asked.input)
  if (!questions || said.answer === undefined) throw unfit(asked, 'only an answer can be remembered')
  const read = readAnswer({ ...said, by: 'human' }, questions)
  if ('problem' in read) throw unfit(asked, read.problem)
  const where = scope === 'everywhere' ? 'in every project' : `in ${neutral(asked.project)}`
  return [
    `From now on ${where}, until you forget it:`,
    ...questions.map(({ question }, index) => {
      return `  ${firstLine(question)} > ${firstLine([read.answer?.[index] ?? ''].flat().join(', '))}`
    }),
  ]
}

function unfit({ number }: EscalationView, problem: string): AppError {
  return new AppError('answer_unfit', { number, problem })
}
