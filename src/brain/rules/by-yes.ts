import type { QuestionItem } from '../../domain/session.ts'
import { findAffirmative, type RuleAnswer } from './by-requirements.ts'
import { foldText, normalizedReadings } from './grave.ts'

/**
 * Yes to going on, and yes to the standard steps of the work. A list of bad things would have no end, so only known good things
 * are agreed to: just going on, or work on code in the project. Never anything beyond the working copy, never one of two things,
 * never text that cannot be read for certain. The caller makes sure that nothing grave is agreed to.
 */
export function byYes(item: QuestionItem): RuleAnswer | undefined {
  const text = item.question.trim()
  if (text.length > LONGEST || !READABLE.test(text) || !isYesOrNo(text)) return undefined
  const answer = findAffirmative(item)
  if (answer === undefined) return undefined
  const chosen = item.options.filter(({ label }) => [answer].flat().includes(label))
  const full = [item.header, text, ...chosen.flatMap(({ label, description }) => [label, description])].join('\n')
  if (hasOutsideEffect(full) || !isCodePlain(full)) return undefined
  if (isGoingOn(text)) return { answer, confidence: 0.85, reasoning: 'it asks whether to go on' }
  if (isStandard(text)) return { answer, confidence: 0.75, reasoning: 'it asks for a standard step of the work' }
  return undefined
}

const LONGEST = 600
/** Latin letters without accents, signs and pictures: other text may mean something that no list here knows. */
const READABLE = /^(?:[\x20-\x7e\n\t]|[‘’“”–—…•→✓✅]|\p{Extended_Pictographic}|\ufe0f)*$/u

/** Whether it asks to go on: with nothing named, with what was planned, or with work on code. */
function isGoingOn(text: string): boolean {
  if (GOES_ON_ALONE.test(text)) return true
  const object = textAfter(GOES_ON, text)
  if (object === undefined) return false
  if (object === '' || POINTS_AT.test(object)) return true
  const [, link = '', rest = ''] = /^(and|to|by|with|on)?\s*(?:also |then |now )?(.*)$/is.exec(object) ?? []
  const [action = '', ...more] = rest.split(LINKS)
  const verb = /^[a-z]+/i.exec(action)?.[0] ?? ''
  const isAction = /^(?:and|to|by)$/i.test(link) || /ing$/i.test(verb)
  return isKnown(action) && (!isAction || isCodeVerb(verb)) && more.every(isKnown)
}

function isStandard(text: string): boolean {
  const [action = '', ...more] = (textAfter(LEAVE_FOR, text) ?? '').split(LINKS)
  const isStandardStep = STANDARD.test(action) || (STANDARD_IF_CODE.test(action) && isAboutCode(action))
  return isStandardStep && more.every(isKnown)
}

/** The text after the phrase that asks for permission, without the question mark. */
function textAfter(phrase: RegExp, text: string): string | undefined {
  const match = phrase.exec(text)
  return match
    ? text
        .slice(match.index + match[0].length)
        .replace(/[?!.\s]+$/, '')
        .trim()
    : undefined
}

/** Words after which something else may follow something good: "run the tests *and* …", "*on* the shop", "*that* bills the team". */
const LINKS =
  /[,;:()]|\s(?:and|then|that|which|by|while|before|after|on|onto|into|to|over|against|out of|with|via|using)\s/i

function isKnown(part: string): boolean {
  const text = part.trim()
  return text === '' || POINTS_AT.test(text) || isAboutCode(text) || SELF_EVIDENT.test(text)
}

const SELF_EVIDENT =
  /^(?:(?:i|we) (?:continue|proceed|go on|start|commit|finish|move on)|`[\w.]+`(?: everywhere)?|\w*[a-z][A-Z]\w*(?: everywhere)?|so on|the (?:project|repo|repository))$/

/** Whether it is one question and not a choice such as "proceed or wait?", "A or B?", "which …?". */
function isYesOrNo(text: string): boolean {
  if ((text.match(/\?/g) ?? []).length > 1) return false
  const question = text.split(/(?<=[.!:])\s+|\n/).at(-1) ?? text
  return !/\b(or(?! not\b| so\b)|which|versus|vs|either|how|what|where|who|why)\b/i.test(question)
}

/** Whether the text in backticks is a name, a path, or a command that only reads or tests. */
function isCodePlain(text: string): boolean {
  return [...text.matchAll(/`+([^`]*)`+/g)].every(([, code = '']) => PLAIN_CODE.test(code.trim()))
}

const PLAIN_CODE =
  /^(?:[\w@./#:()<>[\]-]*|(?:npm|pnpm|yarn|bun) (?:run )?(?:test|lint|build|typecheck|check|format|install|ci)|npx tsc(?: --noEmit)?|tsc(?: -p \.)?|pytest(?: -q)?|cargo (?:test|check|clippy|fmt|build)|go (?:test|vet|build)(?: \.\/\.\.\.)?|make (?:test|lint|check)|git (?:status|diff|log|add|commit))$/

/** Phrases that ask for permission; the action follows them. Each line holds alternatives of a regular expression. */
const LEAVE = lines(`
(?:shall|should|may|can|could|do) (?:i|we)(?: now| just| then)?
(?:do you )?(?:want|wish) (?:me|us) to|would you like (?:me|us) to|would you like to|do you want to
(?:is it |are you |am i |are we |all |it's |if it's |if you're )?(?:ok|okay|fine|good|happy|ready|clear|alright|safe)(?: with you| by you| for me| for you)? (?:to|if i|for me to|with me)
permission to|good to|(?:if|whether) (?:i|we) (?:should|can|may)|would it be ok(?:ay)? (?:to|if i)`)

const ON = lines(`
proceed|proceeding|continue|continuing|go ahead|going ahead|go on|going on|move on|move forward|move ahead|keep going
carry on|resume|start|begin|get started|start implementing|begin implementing|press on`)

const GOING_ON_ALONE = lines(String.raw`
^(?:[^?]*[.!:\n]\s*)?(?:shall we|may i|shall i|(?:are you |all )?ready|sounds? good|looks? good)\s*\?$
\b(?:approve|confirm|accept|agree with|happy with|okay with|ok with) (?:this|the|that|my) (?:\w+ )?(?:plan|approach|design|proposal|outline|changes|steps)\W*$
\b(?:does|do) (?:this|that|the|these|my|it)(?: (?:plan|approach|design|outline|proposal|structure|solution|sound|changes))? (?:look|sound|seem|work)s? (?:good|right|ok|okay|fine|reasonable|correct|for you)(?: to you| so far)?\W*$`)

/** Steps that belong to any work and that the next commit can revert. */
const STANDARD_STEP = lines(String.raw`
(?:run|re-?run|execute) (?:the |all |our |these |some )?(?:\w+ )?(?:unit |integration |full |existing |new |e2e )*(?:tests?|test suite|suite|linter|lint|type ?check(?:s|er)?|formatter|build|specs?|checks?|benchmarks?)
(?:add|write|create|include|extend|update|improve|expand)(?: (?:some|more|the|a|an|few|new|missing|additional|corresponding|basic|unit|integration|regression|inline|api|short|brief|proper|relevant|helpful|automated))* (?:tests?|test cases?|test coverage|docs?|documentation|docstrings?|comments?|readme|changelog(?: entry)?|types?|type hints?|type annotations?|error handling|error messages?|logging|validation|input validation|examples?|fixtures?|doc comments?|usage notes?|jsdoc|edge cases?)
(?:format|lint|type-?check|tidy|reformat) (?:the |this |these |all )?(?:code|files?|project|changes|sources?)
(?:commit|stage) (?:the|these|this|those|my|it|all|them|what)(?: \w+){0,3}(?: (?:locally|to git|now))?
install (?:the |these |all |missing |required |project |project's |dev )*(?:dependencies|packages|requirements|types)
(?:update|adjust|modify|extend) (?:the|this|these|that|existing)(?: [\w-]+){0,4} (?:accordingly|tests?|types?|imports?|code|files?|component|function|module|config|configuration|references|callers|call sites|schema)
apply (?:the|this|these|that|it)(?: \w+){0,2} (?:fix|changes?|patch|refactoring|suggestions?|edits?)
make (?:the|this|these|those|that)(?: \w+){0,2} (?:changes?|edits?|fix|updates?)
(?:fix|correct|add|apply|document|test|format|implement|finish|fill in|create) (?:it|this|that|these|those|them|some|one)(?: in| too| as well| now| first)?
rename \W?[\w.]+\W?|fill (?:it|this|that|them) in
do (?:it|that|this|so)(?: now| for you)?`)

/** Standard steps if their object is code. */
const STEP_ON_CODE = lines(String.raw`
(?:fix|resolve|address|correct)(?: \w+){0,3} (?:lint\w*|type|typos?|tests?|failing|failures?|errors?|warnings?|bugs?|issues?|formatting|imports?|indentation)(?: \w+){0,3}
(?:create|make|generate|scaffold) (?:the|a|an|this|these|that|new)(?: \w+){0,3} (?:file|module|component|folder|directory|test|class|function|branch|interface|type|stub|page|route|hook)s?
(?:implement|finish|complete|build|wire up|handle|cover) (?:the|this|these|that|it|them|all|rest|remaining|next)(?: [\w-]+){0,6}
(?:refactor|rename|extract|simplify|clean up|document|split|move) (?:the|this|these|that|it|them)(?: [\w-]+){0,6}`)

/** Permission to go on; the text after it says with what. */
const GOES_ON = new RegExp(
  String.raw`\b(?:${LEAVE}),?\s+(?:now |please |simply |then |just )?(?:${ON})\b|^(?:proceed|continue|go ahead|ready to go|ready|keep going|start)\b(?=[^?.!]*\?)|\bto (?:proceed|continue)\b(?=[^?.!]*\?)`,
  'i',
)

/** Permission to go on that names nothing else. */
const GOES_ON_ALONE = new RegExp(GOING_ON_ALONE, 'i')

/** References to what was planned before: "with this plan", "with step 2", "as outlined above". */
const POINTS_AT =
  /^(?:(?:with|on|to|from|using|as|by)?\s*(?:this|that|it|these|those|here|now|then|there|planned|outlined|proposed|described|discussed|above|you say|(?:the )?(?:step|phase|part|task|item|milestone|point|section|stage) \d+|(?:the |this |that |my |our |your |these |those )?(?:next|second|third|first|remaining|rest|rest of it|proposed|outlined|above|current|described|same|new|following|whole|other)?\s*(?:plan|approach|design|proposal|outline|changes|steps?|work|tasks?|items?|points?|one|ones|phase|part|parts|milestone|implementation|rest|rest of (?:it|this|them|the (?:work|plan|tasks?|list))|stage|round|ticket|issue)?)(?:\s+(?:now|above|below|as (?:planned|outlined|described|is|proposed)|then|first|next|please))?)$/i

/** Permission for something else; the text after it says for what. */
const LEAVE_FOR = new RegExp(
  String.raw`\b(?:${LEAVE}),?\s+(?:also |now |please |just |go ahead and |first |then )*`,
  'i',
)

/** One standard step. */
const STANDARD = new RegExp(String.raw`^(?:${STANDARD_STEP})\b`, 'i')

/** A step that is standard if its object is code. */
const STANDARD_IF_CODE = new RegExp(String.raw`^(?:${STEP_ON_CODE})\b`, 'i')

function lines(text: string): string {
  return text.trim().split('\n').join('|')
}

/** Whether a text names code or text in the project, which the next commit can revert. */
function isAboutCode(text: string): boolean {
  return CODE.test(foldText(text)) || NAMES_A_FILE.test(text)
}

/** Whether a text names something beyond the working copy: machines, accounts, services, people, the world. */
export function hasOutsideEffect(text: string): boolean {
  return normalizedReadings(text).some(reading => OUTSIDE.test(reading))
}

/** Whether this is a form of a verb for work on code. */
function isCodeVerb(word: string): boolean {
  return CODE_VERB.test(foldText(word))
}

const phrases = (text: string) => new RegExp(text.trim().split('\n').join('|'), 'u')

const CODE_VERB =
  /^(implement|writ|add|creat|updat|fix|refactor|mak|run|build|appl|commit|renam|document|test|extract|simplif|format|lint|typ|cod|cover|improv|extend|generat|scaffold|work|design|draft|outlin|styl|pars|render|validat|port|convert|mov|split|wir|start|continu|proceed|go)(e|es|ing|ting|ming|ning|ying|ed|y)?$/

const CODE = phrases(String.raw`
\b(code|implement\w*|refactor\w*|tests?|testing|test suite|specs?|files?|modules?|functions?|class(es)?|methods?|components?|pages?|views?|screens?|forms?|modals?|dialogs?|buttons?|layouts?|styles?|styling|css|html)\b
\b(endpoints?|routes?|routers?|controllers?|handlers?|middleware|api|apis|clients? (code|library|class|side)|parsers?|lexer|tokenizer|reducers?|hooks?|stores? slice|selectors?|types?|typings|interfaces?|schemas?|models?|entities|dto|utils?|helpers?|librar(y|ies))\b
\b(readme|docs?|documentation|docstrings?|comments?|changelog|examples?|guides?|lint\w*|format(ting|ter)?|type ?check\w*|type hints?|imports?|exports?|variables?|constants?|parameters?|arguments?|typos?|indentation|warnings?|errors? (handling|messages?)|errors?|exceptions?|logging|validation|bugs?|edge cases?|fetch|function calls?|endpoint calls?)\b
\b(algorithm|logic|feature|cli|command line|commands?|flags?|options?|parsing|rendering|serializ\w*|caching|cache layer|pagination|search|filter\w*|sort\w*|login|logout|signup form|auth\w*|profile|dashboard|navbar|sidebar|menu|table view|chart|widget|dark mode|theme|i18n|translations?)\b
\b(dependencies|packages|fixtures?|mocks?|snapshots?|benchmarks?|build|branch|diff|patch|edits?|changes|typescript|javascript|python|rust|golang|java|react|vue|svelte|node|next\.?js|django|flask|rails|express|fastify|prisma|sql quer\w+|regex|config(uration)? file|dockerfile|makefile|unit|integration|e2e|coverage|phase|step|part|section|module)\b`)

const NAMES_A_FILE =
  /[\w-]+\.(?:ts|tsx|js|jsx|py|rs|go|java|rb|c|h|cpp|cs|md|json|toml|ya?ml|css|html|sql|sh|vue|svelte)\b/i

const OUTSIDE = phrases(String.raw`
(?<![\p{L}])(servers?(?! (components?|side|actions?|code|module|class|routes?|tests?))|clusters?|clouds?|hosts?|hosting|domains?(?! (models?|layer|logic|objects?|types?|code|events?))|dns|accounts?(?! (page|form|model|view|settings|component|module|screen|type|class))|cards?(?! (component|layout|view|list|grid))|github|gitlab|bitbucket|remotes?|buckets?|s3|regions?|vendors?|supplier|contracts?|terms|tax(es)?|filings?|authorit(y|ies))(?![\p{L}])
(?<![\p{L}])(auction|warranty|transactions?|checkout(?! (page|form|flow|component|view|module))|orders?(?! (history|page|form|view|list|model|endpoint|component|module|of|by|type|details))|hand-?over|switch-?over|clean-?ups?|drain\w*|mass|mailing|live|everyone|everybody|real|risks?|loss|in place|unregister\w*|big red|expir\w*|volumes?|disks?|devices?|machines?|registry|infrastructure|infra|networks?|vpn|hardware)(?![\p{L}])
(?<![\p{L}])(phone|calls? (them|the|him|her)|meeting|calendar|sign(ing)?[ -]?(in|up) (with|to|for|as)|log(ging)? in(to)? (with|as|to)|your (account|card|name|behalf|identity|machine|phone|bank)|my behalf|external|third[- ]part(y|ies)|outside|out of|internet|world|public(?! (api|interface|method|function|class|property|folder|directory))|staging|environments?(?! (variables?|config|files?))|tenants?|members?(?! (function|variable|list|page))|people|employees?|patients?|students?|voters?|legal|police|press|media|investors?)(?![\p{L}])
(?<![\p{L}])(data(?! (models?|types?|structures?|class(es)?|layer|validation|table|fetch\w*|flow|source|access|grid|binding|loading|loader|mapper))|databases?(?! (schema|layer|module|code|access|models?|tests?|quer\w+|client|types?))|db(?! (schema|layer|module|models?))|tables?(?! (view|component|layout|of contents|cells?|rows? component))|rows?|records?|backlog items|locks? .* out|lock(ing)? (every|all|them|users)|void|accept\w* (the|all)|agree(ing)? to|on (its|the) own hardware|port \d+|processe?s?|daemons?|services?(?! (class|layer|module|code|worker|tests?))|queues?|topics?|pods?|containers?|instances?|vms?)(?![\p{L}])`)
