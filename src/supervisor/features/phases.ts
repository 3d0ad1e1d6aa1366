import { AppError } from '../../base/errors.ts'
import type { StartSession } from '../../domain/api.ts'
import { brainKeysIn } from '../../domain/config/layers.ts'
import { type DocumentKind, documentOf, documentsBefore, type WorkPhase } from '../../domain/feature-phase.ts'
import type { Store } from '../../store/store.ts'
import type { FeatureRow } from '../../store/tables.ts'
import { readDocument } from '../../tasks/features.ts'
import { fenceText, stripInvisible } from '../brief/prompt-text.ts'
import type { BoundTask } from '../session/start-session.ts'
import type { FeatureDeps } from './create.ts'

const TITLES: Record<WorkPhase, string> = {
  interview: 'Interview about',
  spec: 'Write the spec of',
  plan: 'Plan',
  tasks: 'Add the tasks of',
}

/** Starts the session of a feature's phase. The feature's row gets the session in the transaction that inserts it. */
export async function beginPhase(
  row: FeatureRow,
  { attach, isRetry, ...deps }: FeatureDeps & { attach?: boolean | undefined; isRetry?: true },
): Promise<void> {
  const { store, tasks, kept, agentEnv, clock } = deps
  const { id, project, name, phase, options } = row
  if (phase === 'ready') return
  const prompt = [phasePrompt(phase, await readMaterial({ ...row, phase }, store)), ...(isRetry ? [RETRY] : [])].join(
    '\n\n',
  )
  const env = kept.of(id) ?? agentEnv
  const keys = brainKeysIn(env)
  const { settings, ...session } = options
  const title = `${TITLES[phase]} the feature ${name}`
  const request: StartSession = {
    ...{ ...session, project, task: prompt, name: `${name}-${phase}`, env },
    ...((settings || Object.keys(keys).length > 0) && { settings: { ...settings, ...keys } }),
    ...(attach && { attach }),
  }
  const take: BoundTask['take'] = async (started, tx) => {
    const current = await store.features.get(id, tx)
    // Of two callers only one may begin the phase, and a feature that was deleted meanwhile begins none.
    if (current?.phase !== phase || current.session_id !== row.session_id) throw new AppError('feature_moved', { name })
    await store.features.update(id, { session_id: started.id, problem: null, updated_at: clock.now() }, tx)
    return tasks.submit({ session_id: started.id, project, title, text: prompt, type: 'feature' }, tx)
  }
  await deps.start(request, { feature: { id, name, phase }, text: title, take })
}

/** Reads the material of a phase as it is now: documents may have been edited since they were written. */
async function readMaterial(
  row: FeatureRow & { phase: WorkPhase },
  store: Pick<Store, 'sessions' | 'events'>,
): Promise<PhaseMaterial> {
  const { name, source, draft, phase } = row
  const documents: PhaseMaterial['documents'] = []
  for (const kind of documentsBefore(phase)) {
    const text = await readDocument(row, kind)
    if (text !== undefined) documents.push({ kind, text })
  }
  return {
    name,
    source,
    answers: documentOf(phase) === 'spec' ? await readInterview(row, store) : [],
    documents,
    drafted: phase === 'tasks' ? draft : [],
  }
}

/** The answers from all sessions of the feature so far, each question once. */
async function readInterview(row: FeatureRow, store: Pick<Store, 'sessions' | 'events'>): Promise<InterviewAnswer[]> {
  const all = await store.sessions.list({ project: row.project })
  const sessions = all.filter(({ options }) => options.feature?.id === row.id).toReversed()
  const answers = new Map<string, string>()
  for (const { id } of sessions) {
    for (const event of await store.events({ subject: id, kinds: ['question.answered'] })) {
      if (event.kind !== 'question.answered') continue
      for (const [question, answer] of Object.entries(event.body.answers))
        answers.set(question, [answer].flat().join(', '))
    }
  }
  return [...answers].map(([question, answer]) => ({ question, answer }))
}

/** What the prompt of a phase contains besides the instructions. */
interface PhaseMaterial {
  name: string
  /** What the person wrote instead of an interview. */
  source: string | null
  /** The questions and answers so far. */
  answers: readonly InterviewAnswer[]
  /** What earlier phases, or the person, have written. */
  documents: { kind: DocumentKind; text: string }[]
  /** Tasks that were added before the agent was interrupted. */
  drafted: readonly { id?: string | undefined; title: string }[]
}

interface InterviewAnswer {
  question: string
  answer: string
}

/** The whole prompt of a phase. The person's texts are quoted unchanged. */
function phasePrompt(phase: WorkPhase, material: PhaseMaterial): string {
  const { documents, source, answers, drafted } = material
  return [
    PROMPTS[phase](stripInvisible(material.name)),
    ...(source === null ? [] : [`What the person wrote down:\n\n${fenceText(source)}`]),
    ...(answers.length === 0 ? [] : [`What the person has answered already:\n\n${formatAnswers(answers)}`]),
    ...documents.map(({ kind, text }) => `The ${kind}:\n\n${fenceText(text)}`),
    ...(drafted.length === 0 ? [] : [`Tasks that exist already:\n\n${formatDraft(drafted)}`]),
  ].join('\n\n')
}

const READ_ONLY =
  'Look at the project as far as you need to: you can read everything and change nothing. Nothing is built in this conversation.'

const PROMPTS: Record<WorkPhase, (name: string) => string> = {
  interview:
    name => `You interview a person about a feature of this project that they call "${name}", until you can write down what is wanted so that somebody who was not there can build it.

${READ_ONLY} Do not ask what the code says.

- Ask with your tool ask_human (of the server pcc), one question at a time, the most important one first; give options where there are some. Here asking is the work: do not guess what only the person knows.
- Ask what it is for, who uses it, what must hold when it is done, what is not part of it, and what may go wrong.
- Five to ten questions are mostly enough. When the person says that it is enough, ask nothing more.

${SPEC_FORM}`,
  spec: name => `You write the spec of a feature of this project that is called "${name}", from what the person has said about it below.

${READ_ONLY} Nobody can be asked now: decide what is not said in the plainest way, and name it under "Open questions".

${SPEC_FORM}`,
  plan: name => `You plan how a feature of this project, "${name}", is built. Its spec is below; the person has read it and may have changed it, so every line counts.

${READ_ONLY}

Your last message is the plan in Markdown, between a line <plan> and a line </plan>: first how it is built and why so, with the files that matter; then, under the heading "Tasks", a check-list with a line "- [ ] …" for each task, in the order in which they can be done, and indented below it what its agent needs to know. A task is what one agent can do in one session, and it can be checked when it is done; tests belong to the task that needs them.`,
  tasks:
    name => `You turn the plan of a feature of this project, "${name}", into tasks. Its spec and its plan are below; the person has read both and may have changed them, so every line counts.

${READ_ONLY}

- Add each task with your tool add_task (of the server pcc), a task before those that depend on it: its title, a description that is enough for an agent who sees only that and the spec, and what must hold when it is done, as acceptance.
- Name the tasks that it comes after only where it needs them done: independent tasks run at the same time. add_dependency adds what you forgot.
- When a tool refuses something, do what it says.
- Add all tasks of the plan, and no others. Then end with one line that says how many there are.`,
}

const SPEC_FORM = `Your last message is the spec in Markdown, between a line <spec> and a line </spec>: a heading with its name; what it is for; what it does, point by point; acceptance criteria that can be checked; what is not part of it; open questions. Use the person's own words where they are clear.`

const RETRY =
  'Another agent has ended this without the document. Only your last message counts, and the lines around the document are part of it: send all of it there.'

function formatAnswers(answers: readonly InterviewAnswer[]): string {
  return fenceText(answers.map(({ question, answer }) => `Q: ${question}\nA: ${answer}`).join('\n\n'))
}

function formatDraft(drafted: PhaseMaterial['drafted']): string {
  return fenceText(drafted.map(({ id, title }) => `${id}: ${title}`).join('\n'))
}
