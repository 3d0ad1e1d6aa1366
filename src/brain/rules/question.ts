import type { AnswerValue, Brain, BrainContext, Opinion } from '../../domain/brain.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { noOpinion } from '../chain.ts'
import { byProhibition, byRequirements, type RuleAnswer } from './by-requirements.ts'
import { byYes } from './by-yes.ts'
import { explainGraveAnswer, findGraveWords } from './grave.ts'
import { judgePermission } from './permission.ts'

/** The brain without a model: it knows little, says so, costs nothing and answers at once. */
export const rulesBrain: Brain = {
  name: 'rules',
  async answerQuestion(questions, context) {
    return answerByRules(questions, context)
  },
  async evaluatePermission({ risk, found }) {
    if (!found) return noOpinion('rules', 'the rules need the codes of reasons, and there are none')
    const { approve, confidence, reason } = judgePermission({ risk, reasons: found })
    return { value: approve ? true : undefined, confidence, reasoning: reason, by: 'rules' }
  },
  async summarize(text) {
    const last =
      text
        .trim()
        .split(/\n\s*\n/)
        .at(-1)
        ?.replace(/\s+/g, ' ')
        .trim() ?? ''
    if (!last) return noOpinion('rules', 'there is nothing to summarize')
    return { value: clip(last), confidence: 0.5, reasoning: 'the last paragraph is taken as the summary', by: 'rules' }
  },
}

const LONGEST_SUMMARY = 400

function clip(text: string): string {
  return text.length <= LONGEST_SUMMARY ? text : `${text.slice(0, LONGEST_SUMMARY - 1)}…`
}

/**
 * The rules for an agent's questions. Each question is answered from the requirements, else from the project's structure, else
 * with "yes" to going on or to a standard step; all questions or none. Without a matching rule the confidence is 0.
 */
export function answerByRules(questions: QuestionItem[], context: BrainContext): Opinion<AnswerValue> {
  const answers: RuleAnswer[] = []
  for (const item of questions) {
    const found = findAnswer(item, context)
    if (found === undefined) return noOpinion('rules', `no rule knows "${item.question.slice(0, 120)}"`)
    const grave = explainGraveAnswer(item, [found.answer].flat())
    if (grave !== undefined) return noOpinion('rules', `${grave}: a person decides`)
    answers.push(found)
  }
  if (answers.length === 0) return noOpinion('rules', 'nothing was asked')
  return {
    value: answers.map(({ answer }) => answer),
    confidence: Math.min(...answers.map(({ confidence }) => confidence)),
    reasoning: [...new Set(answers.map(({ reasoning }) => reasoning))].join('; '),
    by: 'rules',
  }
}

function findAnswer(item: QuestionItem, context: BrainContext): RuleAnswer | undefined {
  if (isOversized(item)) return undefined
  const { requirements, entries = [] } = context
  const required = requirements && (byRequirements(item, requirements) ?? byProhibition(item, requirements))
  return required ?? byPlace(item, entries) ?? byYes(item)
}

/** No question that a rule knows is that long, and comparing long texts takes time. */
function isOversized({ question, options }: QuestionItem): boolean {
  return question.length > 2_000 || options.length > 30 || options.some(({ label }) => label.length > 200)
}

/** Where to save something, from the project's directories; only for things with a usual folder, and never outside the project. */
function byPlace(item: QuestionItem, entries: readonly string[]): RuleAnswer | undefined {
  const text = `${item.header} ${item.question}`
  if (!ASKS_WHERE.test(item.question) || findGraveWords(text) !== undefined || item.multiSelect) return undefined
  const names = new Set(entries.map(entry => entry.replace(/\/+$/, '')))
  const kind = KINDS.find(({ about }) => about.test(text))
  const usual = kind?.paths.filter(place => names.has(place)) ?? []
  const answer = item.options.length === 0 ? asFolder(usual[0]) : chooseOption(item.options, names, usual)
  if (answer === undefined) return undefined
  return { answer, confidence: 0.7, reasoning: `the project keeps such things in ${usual[0] ?? answer}` }
}

const ASKS_WHERE =
  /\bwhere (?:should|shall|do|would|can|to|does|will|in)\b|\b(?:which|what) (?:file|directory|folder|path|location|place|dir)\b|\bin(?:to)? which\b/i

const KINDS: readonly { about: RegExp; paths: readonly string[] }[] = [
  { about: /\b(tests?|specs?|test cases?|fixtures?|e2e)\b/i, paths: ['test', 'tests', '__tests__', 'spec', 'specs'] },
  { about: /\b(docs?|documentation|guides?|adr|manual|tutorial)\b/i, paths: ['docs', 'doc', 'documentation'] },
  { about: /\b(examples?|samples?|demos?)\b/i, paths: ['examples', 'example', 'samples'] },
  { about: /\b(scripts?|tooling)\b/i, paths: ['scripts', 'script', 'bin', 'tools'] },
  { about: /\b(components?|views?|widgets?)\b/i, paths: ['components', 'src', 'app'] },
  { about: /\b(images?|icons?|assets?|fonts?|static)\b/i, paths: ['assets', 'public', 'static'] },
  { about: /\b(reports?|output|results?)\b/i, paths: ['reports', 'report', 'output', 'out', 'docs'] },
  { about: /\b(benchmarks?)\b/i, paths: ['bench', 'benchmarks'] },
  { about: /\b(migrations?)\b/i, paths: ['migrations', 'db'] },
  {
    about:
      /\b(code|modules?|functions?|class(?:es)?|types?|helpers?|implementation|files?|routes?|hooks?|services?|handlers?|logic|parser|api|endpoints?|models?|config\w*)\b/i,
    paths: ['src', 'lib', 'app', 'packages', 'source'],
  },
]

function asFolder(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `${name}/`
}

/** The option inside an existing directory: the first usual one, else the only one at all. */
function chooseOption(
  options: QuestionItem['options'],
  names: ReadonlySet<string>,
  usual: readonly string[],
): string | undefined {
  const placed = options.flatMap(({ label, description }) => {
    const path = readPath(label) ?? readPath(description)
    const top = path && topOf(path)
    return top && names.has(top) && findGraveWords(`${label} ${description}`) === undefined ? [{ label, top }] : []
  })
  for (const place of usual) {
    const fitting = placed.filter(({ top }) => top === place)
    if (fitting.length === 1) return fitting[0]?.label
    if (fitting.length > 1) return undefined
  }
  return placed.length === 1 ? placed[0]?.label : undefined
}

/** A path inside the project: not absolute, not in the home directory, not upwards, and not hidden. */
function readPath(text: string): string | undefined {
  const path = /(?:^|[\s`'"(])(\.\/)?((?:[\w@-][\w.@-]*\/)+[\w.@*-]*|[\w@-]+$)/.exec(text.trim())?.[2]
  return path === undefined || /(^|\/)\.\.?(\/|$)/.test(text) || /[~\\]|(^|\s)\//.test(text) ? undefined : path
}

function topOf(path: string): string | undefined {
  return path.split('/')[0]
}
