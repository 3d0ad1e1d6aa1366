import { systemClock } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import { explainGraveAnswer } from '../../brain/rules/grave.ts'
import type { HookAnswer, HookEventOf } from '../../domain/hooks.ts'
import { QUESTION_TOOL, questionsIn } from '../../human/questions.ts'
import { findRememberedAnswer } from '../../human/remembered-answers.ts'
import type { AnswerStore } from '../../store/store.ts'
import type { AnswerEvent, HookContext } from './router.ts'

export interface QuestionDeps {
  /** The table of the daemon, or one that is only read (`openRememberedAnswers`). */
  answers: Pick<AnswerStore, 'find'>
  now?(): number
}

/** Answers what a person answered before, as sessions of pcc do. Several questions at once only if every answer is known. */
export function answerQuestions(deps: QuestionDeps): AnswerEvent<'tool_before'> {
  return async (event, context) => (event.tool === QUESTION_TOOL ? answerFromMemory(event, context, deps) : undefined)
}

async function answerFromMemory(
  { input }: HookEventOf<'tool_before'>,
  context: HookContext,
  { answers, now = () => systemClock.now() }: QuestionDeps,
): Promise<Partial<HookAnswer> | undefined> {
  const questions = questionsIn(input)
  const { enabled, threshold, memory } = (await context.settings()).answers
  if (!questions || !enabled) return undefined
  const asked = { project: context.project, questions }
  const found = await findRememberedAnswer(answers, asked, { memory, now: now() }).catch(error => {
    // If memory cannot be read, the vendor asks the person.
    context.log.warn({ error }, 'remembered answers could not be read')
    return undefined
  })
  if (!found || found.confidence < threshold) return undefined
  const given = questions.map((_, index) => [found.value[index] ?? ''].flat())
  // A yes to something that cannot be undone counted that day only, unless the person made it lasting.
  const isGrave = questions.some((item, index) => explainGraveAnswer(item, given[index] ?? []) !== undefined)
  if (isGrave && !found.lasting) return undefined
  const byQuestion = questions.map(({ question }, index) => [question, (given[index] ?? []).join(', ')] as const)
  const said = byQuestion.map(([question, answer]) => `${question} ${answer}`).join('; ')
  return {
    decision: 'allow',
    reason: found.reasoning,
    input: { ...input, answers: Object.fromEntries(byQuestion) },
    notice: neutral(`pcc ${found.reasoning}: ${said.slice(0, LONGEST_NOTICE)} (pcc answers list)`),
  }
}

const LONGEST_NOTICE = 400
