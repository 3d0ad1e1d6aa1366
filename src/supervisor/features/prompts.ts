import type { WorkPhase } from '../../domain/features/feature.ts'
import { fenced, visible } from '../brief/fence.ts'

/** What the agent of a phase is told beside how to go about it. */
export interface PhaseMaterial {
  name: string
  /** What the person wrote down in place of an interview. */
  source: string | null
  /** What was asked and answered so far. */
  said: readonly Said[]
  spec: string | undefined
  plan: string | undefined
  /** Tasks that were added before the agent was interrupted. */
  drafted: readonly { id?: string | undefined; title: string }[]
}

export interface Said {
  question: string
  answer: string
}

/** The whole prompt of a phase. What the person wrote stands in it as they wrote it. */
export function phasePrompt(phase: WorkPhase, material: PhaseMaterial): string {
  const { spec, plan, source, said, drafted } = material
  return [
    PROMPTS[phase](visible(material.name)),
    ...(source === null ? [] : [`What the person wrote down:\n\n${fenced(source)}`]),
    ...(said.length === 0 ? [] : [`What the person has answered already:\n\n${saidLines(said)}`]),
    ...(spec === undefined || phase === 'interview' || phase === 'spec' ? [] : [`The spec:\n\n${fenced(spec)}`]),
    ...(plan === undefined || phase !== 'tasks' ? [] : [`The plan:\n\n${fenced(plan)}`]),
    ...(drafted.length === 0 ? [] : [`Tasks that are there already:\n\n${draftedLines(drafted)}`]),
  ].join('\n\n')
}

const LOOK =
  'Look at the project as far as you need to: you can read everything and change nothing. Nothing is built in this conversation.'

const PROMPTS: Record<WorkPhase, (name: string) => string> = {
  interview:
    name => `You interview a person about a feature of this project that they call "${name}", until you could write down what is wanted so that somebody who was not there can build it.

${LOOK} Do not ask what the code says.

- Ask with your tool ask_human (of the server pcc), one question at a time, the most important one first; give options where there are some. Here asking is the work: do not guess what only the person knows.
- Ask what it is for, who uses it, what must hold when it is done, what is not part of it, and what may go wrong.
- Five to ten questions are enough for most. When the person says that it is enough, ask nothing more.

${SPEC_FORM}`,
  spec: name => `You write the spec of a feature of this project that is called "${name}", from what the person has said about it below.

${LOOK} Nobody can be asked now: what is not said you decide in the plainest way, and name under "Open questions".

${SPEC_FORM}`,
  plan: name => `You plan how a feature of this project, "${name}", is built. Its spec stands below; the person has read it and may have changed it, so every line of it counts.

${LOOK}

Your last message is the plan in Markdown, between a line <plan> and a line </plan>: first how it is built and why so, with the files that matter; then, under the heading "Tasks", a check-list with a line "- [ ] …" for each task, in the order in which they can be done, and what whoever does it needs to know indented below it. A task is what one agent does in one sitting and what can be checked when it is done; tests belong to the task that needs them.`,
  tasks:
    name => `You turn the plan of a feature of this project, "${name}", into tasks. Its spec and its plan stand below; the person has read both and may have changed them, so every line of them counts.

${LOOK}

- Add each task with your tool add_task (of the server pcc), those first that others come after: its title, a description that is enough for an agent who sees nothing but it and the spec, and what must hold when it is done, as acceptance.
- Say what it comes after only where it needs that done: what does not depend on one another is done side by side. add_dependency adds what you forgot.
- When a tool refuses something, do what it says.
- All tasks of the plan, and nothing that is not in it. Then end with one line that says how many there are.`,
}

const SPEC_FORM = `Your last message is the spec in Markdown, between a line <spec> and a line </spec>: a heading with its name; what it is for; what it does, point by point; acceptance criteria that can be checked; what is not part of it; open questions. Use the person's own words where they are clear.`

function saidLines(said: readonly Said[]): string {
  return fenced(said.map(({ question, answer }) => `Q: ${question}\nA: ${answer}`).join('\n\n'))
}

function draftedLines(drafted: PhaseMaterial['drafted']): string {
  return fenced(drafted.map(({ id, title }) => `${id}: ${title}`).join('\n'))
}
