import { folded, readings } from '../grave/revealed.ts'

/** Whether a text names something that is made of code or text in the project, so that the next commit can take it back. */
export function isAboutCode(text: string): boolean {
  return CODE.test(folded(text)) || NAMES_A_FILE.test(text)
}

/** Whether a text names something beyond the working copy: machines, accounts, services, people, the world. */
export function reachesOutside(text: string): boolean {
  return readings(text).some(reading => OUTSIDE.test(reading))
}

/** Whether this is the beginning of a verb for work on code. */
export function isCodeVerb(word: string): boolean {
  return CODE_VERB.test(folded(word))
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
