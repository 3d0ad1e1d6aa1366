import { AppError } from '../../base/errors.ts'
import type { AnswerEscalation, EscalationView } from '../../domain/escalation.ts'
import { questionsIn } from '../../human/memory/questions.ts'
import { readAnswer } from '../../human/read-answer.ts'
import { shownRule } from '../../policy/verdict/rules.ts'
import { confirm } from '../confirm.ts'
import type { Context } from '../context.ts'
import { firstLine, neutral } from '../render/text.ts'
import { exactRule } from './exact-rule.ts'

interface Always {
  asked: EscalationView
  said: Pick<AnswerEscalation, 'verdict' | 'answer'>
  everywhere: boolean
  yes: boolean
}

/** What `--always` writes: with the answer itself, or after it. */
export interface Lasting {
  /** Goes with the answer to a question. */
  always?: AnswerEscalation['always']
  /** Writes the rule of a permission, once the answer is in. */
  after?(): Promise<void>
}

/** Shows what will count from now on and asks whether that is wanted: the narrowest rule, or the answer to remember. */
export async function always({ asked, said, everywhere, yes }: Always, context: Context): Promise<Lasting> {
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
  context.note(`This rule is added to yours, for every project: ${neutral(shownRule(rule))}`)
  await confirm({ action: 'Writing a rule', question: 'Write it?', yes })
  return {
    async after() {
      const { addOne } = await import('../rules/edit.ts')
      await addOne({ ...context, json: false, out: context.json ? context.note : context.out }, rule, {})
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
