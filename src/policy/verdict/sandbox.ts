import { type Assessment, highestRisk, type Piece, type Reason } from '../../domain/assessment.ts'
import { isHost } from '../classify/address.ts'
import { isLeftOver } from '../paths/judge-path.ts'
import { FAR_REACHING } from '../programs/step-names.ts'

/** The assessment of a call in a sandbox: what stays in there is LOW, and the rest counts as it is. */
export function leaveToSandbox(assessment: Assessment): Assessment {
  // What is held may depend on a file that was not read.
  if (assessment.hasUnread || !assessment.reasons.some(({ held }) => held)) return assessment
  const acts = findActs(assessment)
  const [left, rest] = [true, false].map(wanted =>
    assessment.reasons.filter(reason => isLeftToSandbox(reason, acts) === wanted),
  ) as [Reason[], Reason[]]
  if (left.length === 0) return assessment
  const kept = left.map(reason => ({ ...reason, risk: 'LOW' as const, text: `the sandbox holds it: ${reason.text}` }))
  return { ...assessment, risk: highestRisk(rest.map(reason => reason.risk)), reasons: [...rest, ...kept] }
}

/**
 * What the project itself shows to be everyday counts as MEDIUM also without a sandbox, on the same conditions: nothing else in the command may take
 * part in it.
 */
export function settleOwn(top: Piece): undefined {
  const own = listReasons(top).filter(reason => reason.own)
  if (own.length === 0) return
  const acts = findActs({ pieces: [top] })
  for (const reason of own) {
    if (!isLeftToSandbox(reason, acts)) delete reason.own
    else if (reason.risk === 'HIGH') reason.risk = 'MEDIUM'
  }
}

function listReasons({ reasons, pieces }: Piece): Reason[] {
  return [...reasons, ...pieces.flatMap(listReasons)]
}

/** Reasons that a sandbox settles by itself wherever they are held. */
const SETTLED: ReadonlySet<string> = new Set(
  'proc.kill proc.listed proc.detach file.delete env.hijack cwd.outside path.outside path.secret net.serve net.change net.get tool.outside code.inline'.split(
    ' ',
  ),
)

/**
 * Reasons about files that are made or changed, each with the programs that may take part. A sandbox has the network and the project, and
 * one command can write a file and run it before anybody has read it: so they are settled only if the rest of the command looks and prints.
 */
const MADE: Readonly<Record<string, readonly string[] | undefined>> = {
  'write.redirect': [],
  'file.mode': ['chmod'],
  'file.link': ['ln'],
  'file.archive': ['tar', 'unzip'],
  'file.convert': ['pandoc', 'magick', 'convert', 'dot', 'mmdc', 'asciidoctor'],
  'net.download': ['curl', 'wget'],
  'write.unknown': ['xargs', 'git'],
}

/** Compilers, what they make in /tmp, and what asks it or ends it. */
const COMPILES = /^(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|\/tmp\/[\w./-]+|go build|javac|java|curl|kill|lsof)( |$)/

function isLeftToSandbox({ held, code, text, target }: Reason, acts: Acts): boolean {
  if (!held) return false
  if (code === 'tool.flag') return isNearFlag(text.replace(/ (is|changes|may) .*$/s, ''), acts)
  if (SETTLED.has(code)) return true
  // A program that was compiled here, as long as nothing but compilers could put something in its place.
  if (code === 'script.foreign')
    return (
      !acts.quiet.some(([name = '']) => WRITERS.has(name) && name !== 'mkdir') &&
      acts.others.every(words => COMPILES.test(words.join(' ')))
    )
  if (code === 'write.code')
    return acts.others.every(words => [READS_CODE, ONLY_READS, PYTHON_TEXT].some(shape => shape.test(words.join(' '))))
  if (code === 'code.edits') return acts.others.length === 1 || isCheckedEdit(text, acts)
  const partners = MADE[code]
  if (partners === undefined) return false
  const isAlone = acts.others.every(words => partners.includes(words[0] ?? '') || ONLY_READS.test(words.join(' ')))
  if (code === 'write.redirect' && target === 'fresh' && isOnlyRead(text, acts)) return true
  if (code === 'write.redirect')
    return isAlone || (target !== 'kept' && isOutput(text, acts)) || isCheckedCode(text, acts)
  // Whether a file of the project may be run says nothing of what is in it: a program is judged by its own text, and one that was just written is not.
  if (
    code === 'file.mode' &&
    acts.writes.every(({ others }) => others === 0) &&
    !acts.quiet.some(([name = '']) => WRITERS.has(name))
  )
    return (
      isAlone ||
      (acts.writes.length === 0 && acts.others.every(([name = '']) => name === 'chmod' || OWN_PROGRAM.test(name)))
    )
  // A link may lead a later write to a file that steers others, what was fetched may become one, and a copy may replace what is listed.
  if (acts.writes.length > 0 || acts.quiet.some(([name = '']) => WRITERS.has(name))) return false
  if (code !== 'write.unknown') return isAlone
  const then = acts.quiet.every(words => words[0] !== 'sed' || isRename(words)) ? CHECKS : READS_CODE
  return (
    acts.others.every(words =>
      [partners.includes(words[0] ?? ''), READS_CODE.test(words.join(' ')), then.test(words.join(' '))].includes(true),
    ) && listsCode(acts)
  )
}

/** Whether sed puts one spelled-out name or path of a module in place of another, and the new one neither starts nor removes anything. */
function isRename(words: readonly string[]): boolean {
  const [script, ...files] = words.slice(1).filter(word => !/^-(i|E|r|e)$/.test(word))
  const steps = script?.split(/;\s*/) ?? []
  return (
    files.every(file => !file.includes('/')) &&
    steps.every(step => {
      const [, , from = '', to = ''] = RENAMES.exec(step.slice(0, 200)) ?? []
      return from !== '' && !DEEDS.test(to) && !(DEEDS.test(from) && from !== to)
    })
  )
}

const RENAMES =
  /^s([/#|,@])((?:\\b|\\<)?[A-Za-z_$][\w/@-]{2,}(?:\\?[./][\w@-]+)*(?:\\b|\\>)?)\1([A-Za-z_$][\w/@-]*(?:[./][\w@-]+)*)\1g?$/
/** Words of languages, and functions and modules that do more than compute. */
const DEEDS =
  /(^|[./\b])(rm\w*|unlink\w*|rimraf\w*|remove\w*|RemoveAll|rename\w*|truncate\w*|exec\w*|spawn\w*|eval|system|p?open\w*|fork\w*|Function|require|import\w*|fetch|request\w*|socket|connect|child_process|subprocess|os|fs|shutil|net|https?|process|env|environ|globalThis|true|false|null|None|True|False|return|yield|await|throw|skip|only|todo|x(it|describe|test)|xfail|pending|expect|assert\w*)([./]|$)/

/** Whether a flag of a tool reaches nothing but the project: by its name, or because it names where the tool writes what can be made again. */
function isNearFlag(word: string, { others }: Acts): boolean {
  const [, flag = word, attached] = /^(--?[\w.-]+)=(.*)$/s.exec(word) ?? []
  if (attached !== undefined && isAddress(attached)) return false
  if (/^--(release|delete-conflicting-outputs)$/.test(word) || !FAR_REACHING.test(word)) return true
  const command = others.find(words => words.includes(word))
  const value = attached ?? command?.[command.indexOf(word) + 1] ?? ''
  if (/^--(host|hostname|bind)$/.test(flag) && /^(localhost|127\.0\.0\.1|::1)$/.test(value)) return true
  if (/^(-r|--require)$/.test(flag) && REGISTERS.test(value)) return true
  return (
    !FAR_REACHING.test(flag.replace(PLACE, '')) &&
    (OWN_FILE.test(value) || CODE_FILE.test(value) || REPORT_FILE.test(value) || isLeftOver(value))
  )
}

/** Whether the value of a flag may name another machine: `evil.example`, `db:5432`, `a@b`. */
function isAddress(value: string): boolean {
  return /@|:\d|^[\w-]+:$/.test(value) || (!/^\.{0,2}\//.test(value) && isHost(value) && !/^[\d.]+$/.test(value))
}

/** Packages that make a test runner read TypeScript or show where an error is. */
const REGISTERS =
  /^(ts-node\/(register|esm)(\/[\w-]+)?|tsx(\/cjs|\/esm)?|@babel\/register|esbuild-register|@swc-node\/register|@swc\/register|source-map-support\/register|tsconfig-paths\/register|jsdom-global\/register)$/

/** The parts of a flag's name that say where a file is. */
const PLACE = /out-?(put|file)?|-?(dir(ectory)?|dest(ination)?|file|path)\b/gi
/** A file in /tmp, of which a sandbox has its own, that nothing loads. */
const OWN_FILE = /^\/tmp\/[\w./-]+\.(json|xml|txt|log|out|html|csv|svg|md|lcov|prof|pb|gz|sarif|tap|ndjson)$/

/** A report by its name, in the project. */
const REPORT_FILE =
  /^(\.\/)?([A-Za-z][\w-]*\/)*([\w.-]*(junit|reports?|results?|coverage|output)[\w.-]*|(test-)?(reports?|results?|coverage)\/[\w.-]+)\.(json|xml|html|txt)$/

/** What the commands of a request are. */
interface Acts {
  /** Commands that only look, print, or make and move files, which the policy judges by their names. */
  quiet: (readonly string[])[]
  /** All others. */
  others: (readonly string[])[]
  /** Commands whose output goes to xargs. */
  lists: (readonly string[])[]
  /** For each file that is written by redirection: how many of the others run in the same command or pipe. */
  writes: { others: number }[]
}

function findActs({ pieces }: Pick<Assessment, 'pieces'>): Acts {
  const acts: Acts = { quiet: [], others: [], lists: [], writes: [] }
  for (const piece of pieces) visit(piece)
  return acts

  function visit({ argv, piped, reasons, pieces: inner }: Piece): void {
    const [before, written] = [acts.others.length, acts.writes.length]
    // What a wrapper runs is a command of its own.
    if (argv && !inner.some(piece => piece.derived && piece.argv))
      (isQuiet(argv) ? acts.quiet : acts.others).push(nameInstalled(argv))
    const fed = piped ? inner.findLastIndex(piece => piece.argv?.[0] === 'xargs') : -1
    for (const piece of inner.slice(0, Math.max(fed, 0))) acts.lists.push(piece.argv ?? [])
    for (const { code } of reasons) if (/^write\.(redirect|temp)$/.test(code)) acts.writes.push({ others: 0 })
    for (const piece of inner) visit(piece)
    if (argv || piped) for (const write of acts.writes.slice(written)) write.others = acts.others.length - before
  }
}

/** What package managers have installed counts by its name. */
function nameInstalled(argv: readonly string[]): readonly string[] {
  const [, name] = /(?:^|\/)(?:node_modules\/\.bin|\.?v?env\/bin|vendor\/bin)\/([^/]+)$/.exec(argv[0] ?? '') ?? []
  return name === undefined ? argv : [name, ...argv.slice(1)]
}

/** Whether a command only looks, prints, or makes and moves files. */
function isQuiet([program = '', verb = '']: readonly string[]): boolean {
  return QUIET.has(program) || (program === 'git' && READS_HISTORY.test(verb))
}

const READS_HISTORY =
  /^(log|diff|show|status|format-patch|ls-files|ls-tree|blame|shortlog|describe|rev-parse|rev-list|cat-file|branch|tag|merge-base|diff-tree|name-rev|for-each-ref|config)$/

const WRITERS: ReadonlySet<string> = new Set(['tee', 'cp', 'mv', 'touch', 'mkdir'])

/** Programs that run nothing, as long as no other reason says so. Wrappers are among them, because what they run is a command of its own. */
const QUIET: ReadonlySet<string> = new Set([
  ...`echo printf cat tac head tail grep egrep fgrep rg wc ls sort uniq cut tr sed jq diff cmp comm paste join column nl fold fmt rev seq`.split(
    ' ',
  ),
  ...`date pwd cd set true false : test [ sleep basename dirname stat file du df which base64 md5sum sha256sum xxd od tree find wait iconv`.split(
    ' ',
  ),
  ...['nohup', 'setsid', 'timeout', 'time', 'nice', 'stdbuf', ...WRITERS],
])

/**
 * Whether a redirect keeps what one program of the project prints: in a log by its name or in /tmp, and that program does not read it. With
 * a second program it could be run by that one.
 */
function isOutput(text: string, { others, writes }: Acts): boolean {
  const [, path, name = ''] = / writes ((?:[\w./-]*\/)?([\w.-]+)); /.exec(text) ?? []
  if (path === undefined || !(path.startsWith('/tmp/') || OUTPUT.test(name) || GENERATED.test(path))) return false
  // What is fetched from elsewhere is not held in the first place.
  const runs = others.filter(([program = '']) => !/^(curl|kill|pkill|jobs)$/.test(program))
  return (
    runs.length === 1 && writes.every(write => write.others === 1) && !others.flat().some(word => word.includes(name))
  )
}

/**
 * Whether a new file, whose name no tool looks for, is named by nothing else in the command but what reads it: what a program prints into it is then
 * not run by another one.
 */
function isOnlyRead(text: string, { quiet, others }: Acts): boolean {
  const [, name] = / writes (?:[^;]*\/)?([\w.@+-]+); /.exec(text) ?? []
  // A copy has another name.
  if (name === undefined || quiet.some(([program = '']) => /^(cp|mv)$/.test(program))) return false
  return others.every(words => !words.some(word => word.includes(name)) || READS_DATA.test(words.join(' ')))
}

/** Programs that read a file which they are given, and program texts, which are judged by themselves. */
const READS_DATA =
  /^(git (apply --(check|stat|numstat|summary)|commit (-q )?-F) |g?awk |less |bat |(sha\d+|md5)sum |zcat |gzip |ls |python3? (-m json\.tool|-c|-$)|node (-e|-p) )/

/**
 * Whether a command writes code by its own words and then builds or checks the project. Both happen unasked one after the other; what the code
 * reaches has a reason of its own (`write.code`), because tests run it.
 */
function isCheckedCode(text: string, { quiet, others, writes }: Acts): boolean {
  const [, path = ''] = / writes ([\w./-]+); /.exec(text) ?? []
  // The lines of an image are judged as they are written.
  if (IMAGE.test(path) && others.every(words => [BUILDS_IMAGE, ONLY_READS].some(shape => shape.test(words.join(' ')))))
    return writes.every(write => write.others === 0)
  // No hook of git runs a page or a list.
  if (PAGE.test(path) && others.every(words => [ONLY_READS, GOES_ON].some(shape => shape.test(words.join(' ')))))
    return writes.every(write => write.others === 0)
  const isScratch = TOP_SCRIPT.test(path) && others.length > 0
  if (isScratch && others.every(words => isOnly(words, path)) && !writes.some(write => write.others > 0))
    return !quiet.some(([name = '']) => WRITERS.has(name) || name === 'sed')
  if (
    !(CODE_FILE.test(path) || CODE_BELOW.test(path) || OWN_SCRIPT.test(path)) ||
    writes.some(write => write.others > 0)
  )
    return false
  // What runs the very file is judged by the text that is spelled out, as long as nothing else can change it.
  const mayChange = quiet.some(([name = '']) => name !== 'mkdir' && (WRITERS.has(name) || name === 'sed'))
  return others.every(words => {
    const line = words.join(' ')
    return (
      CHECKS.test(line) ||
      ONLY_READS.test(line) ||
      GOES_ON.test(line) ||
      INLINE.test(line) ||
      (!mayChange && isOnly(words, path))
    )
  })
}

/** Whether a command runs or removes this very file, and does nothing else. */
function isOnly(words: readonly string[], path: string): boolean {
  const [last = ''] = words.slice(-1)
  const isIt = last === path || (path.startsWith('/tmp/') && path.endsWith(`/${last}`))
  return isIt && (/^rm( -f)? \S+$/.test(words.join(' ')) || RUNS.test(words.join(' ')))
}

/** A script at the top of the project that no tool looks for by its name. */
const TOP_SCRIPT =
  /^(?!(conftest|setup|noxfile|manage|fabfile|tasks|dodo|build|gulpfile|gruntfile|server|index|main|app|wsgi|asgi)\.)[\w-]+\.(py|[cm]?js|ts)$/

/** The same for a program text that changes files: with other programs in the command it changes code that they check. */
function isCheckedEdit(text: string, { others }: Acts): boolean {
  const paths = /^a program text changes ([^;]*);/.exec(text)?.[1]?.split(', ') ?? ['']
  const then = others.filter(words => !PYTHON_TEXT.test(words.join(' ')))
  return (
    paths.every(path => CODE_FILE.test(path) || CODE_BELOW.test(path)) &&
    then.every(words => CHECKS.test(words.join(' ')))
  )
}

/** A program text, which is judged by itself. */
const PYTHON_TEXT = /^python3? -$/
const INLINE = /^(python3? (-$|-c )|node (-e|-p|--eval|--print) )/

/** Programs that look at the files which they are given and run nothing of the project, neither code nor settings. */
const ONLY_READS =
  /^(python3? -m (py_compile|compileall|json\.tool)|(ba|z)?sh -n|shellcheck|php -l|ruby -c|node --check|gofmt -[dle]+|kubeconform|kubeval|yamllint|hadolint|actionlint|jsonlint|xmllint --noout|git (add|stage)|git rm( -[qr])* --cached|git update-index --chmod=[+-]x|chmod (u|a)?\+x|docker compose config|terraform fmt|kubectl apply --dry-run=client)( |$)/
/** What people do with code that they have written: hooks of git check it. */
const GOES_ON = /^git commit( -(m|q|F|am|qm)\b| --(quiet|message|file|fixup)| [^-])/
const IMAGE = /^(\.\/)?([\w-]+\/)*(Dockerfile|Containerfile)(\.[\w-]+)?$/
const BUILDS_IMAGE = /^(docker|podman) (build|buildx build|compose build) /
const PAGE =
  /(^|\/)(\.(git|docker|npm|prettier|eslint)ignore|LICENSE|CHANGELOG|README|[\w@.-]+\.(md|mdx|txt|rst|adoc|csv|svg))$/
/** A program of the project by its path. */
const OWN_PROGRAM = /^(\.\/|(?=[\w@-]+\/))(?!.*\.\.)[\w@-][\w@./-]*$/

const CODE_FILE =
  /^(\.\/)?(src|lib|test|tests|spec|app|components|internal|pkg|cmd|packages)\/([\w-][\w.-]*\/)*[\w-]+(\.(test|spec))?\.(ts|tsx|jsx|mts|js|go|rs|java|kt|py|vue|svelte|css|scss|rb|c|h|cc|cpp|hpp|cs|php|swift|ex|exs)$/
/** Code in any other folder of the project: files that steer tools are at the top, hidden, or end otherwise. */
const CODE_BELOW =
  /^(\.\/)?([A-Za-z][\w-]*\/)+[\w-]+(\.(test|spec))?\.(ts|tsx|jsx|mts|js|go|rs|java|kt|py|vue|svelte|css|scss|rb|c|h|cc|cpp|hpp|cs|php|swift|ex|exs)$/
const OWN_SCRIPT = /^\/tmp\/([\w-]+\/)?[\w-]+\.(py|[cm]?js|ts|sh|go)$/
const RUNS = /^(python3?|node|tsx|bash|sh|go run) \S+$/
const CHECKS =
  /^(cargo (check|build|clippy|test|fmt|run( -q| --quiet)* --example)|go (build|vet|test|fmt)|gofmt|goimports|(npx )?(tsc|eslint|prettier|biome|vitest|jest|vue-tsc|oxlint)|npm (test|t|run (-s |--silent )?(test|build|lint|typecheck|check|type-check))|(pnpm|yarn|bun) (test|build|lint|typecheck|check)|(python3? -m )?(pytest|mypy|ruff|black|flake8|unittest)|node --test|node --check|ruby -c|bundle exec (rspec|rubocop)|rspec|rubocop|mix (test|format|compile)|dotnet (build|test)|swift (build|test)|\.\/gradlew (test|build|check)|mvn (-q )?(test|compile|verify))( [\w./@:=-]+)*$/

/** Those of them that read code and do not run it. */
const READS_CODE =
  /^(cargo (check|build|clippy|fmt)|go (build|vet|fmt)|gofmt|goimports|(npx )?(tsc|eslint|prettier|biome|vue-tsc|oxlint)|(python3? -m )?(mypy|ruff|black|flake8)|node --check|ruby -c|(bundle exec )?rubocop|dotnet build)( |$)/

const OUTPUT =
  /(^|[-_.])(results?|reports?|output|coverage|stats|metrics|lint|audit|junit|trace|bundle)[\w.-]*\.(json|xml|html)$|\.(log|out|err|patch|diff|md|csv|tsv|svg|dot)$|^(out|output|results?|report|errors?|bench(mark)?s?|timings?|profile)\.txt$/

/** Folders of the project above those of its code, and none that tools fill. */
const ABOVE = '(?!([\\w-]+/)*(node_modules|vendor|third_party|dist|build|target|out)(/|$))([A-Za-z][\\w-]*/){0,6}'
const CODE_FOLDERS = '(src|lib|tests?|spec|app|components|internal|pkg|cmd)'

const RENAMES_CODE = new RegExp(
  `^git mv( ${ABOVE}${CODE_FOLDERS}/([\\w-]+/)*[\\w-]+(\\.[\\w-]+)*\\.(ts|tsx|jsx|js|go|rs|java|kt|py|vue|svelte|css|scss|rb|c|h|cc|cpp|hpp|cs|php|swift)){2}$`,
)

/** Code that a program of the project makes, as its name says. */
const GENERATED =
  /^(src|lib|app|tests?|internal|pkg)\/([\w-]+\/)*[\w-]+[._](gen|generated|pb|types\.d)\.\w+$|^(src|lib|app)\/([\w-]+\/)*(generated|__generated__|gen)\/([\w-]+\/)*[\w.-]+\.\w+$/

/** Whether the files that are changed are ordinary code. Files that steer tools are at the top, hidden, or end otherwise. */
function listsCode({ quiet, others, lists: fed }: Acts): boolean {
  // A file of code that got another name is code.
  const all = [...quiet, ...others].filter(
    words => !/^(xargs|sed)$/.test(words[0] ?? '') && !RENAMES_CODE.test(words.join(' ')),
  )
  const isFed = fed.length > 0
  // Beside what goes to xargs nothing lists names: a loop could take them.
  const lists = isFed
    ? [...fed, ...all.filter(words => !fed.includes(words) && LISTS_NAMES.test(words.join(' ')))]
    : all
  const [listing, picking] = [true, false].map(wanted =>
    lists.filter(words => LISTS_CODE.some(shape => shape.test(words.join('\n'))) === wanted),
  ) as [Acts['lists'], Acts['lists']]
  return listing.length > 0 && picking.every(words => isFed && PICKS.test(words.join('\n')))
}

/** Commands that print names of files, or give files other names. */
const LISTS_NAMES =
  /^(ls|find|fd|fdfind|which|command|git (mv|apply|am|checkout|stash))\b|^(rg|grep|egrep|fgrep)\b.* (-\w*[lL]\w*|--files\S*)( |$)|^git (ls-files|ls-tree|status|rev-parse|merge-base|describe|branch|rev-list|(diff|show|log)\b.*--name-|grep\b.* (-\w*l|--name-only|--files))/
/** Some of the lines of a list. */
const PICKS = /^(grep\n-[vE]+\n[^-\n]+|head(\n(-n\n?)?-?\d+)?|sort(\n-u)?|uniq)$/

const FOLDER = `${ABOVE}${CODE_FOLDERS}(/[\\w-][\\w.-]*)*/?`
const FILES = `(${ABOVE}${CODE_FOLDERS}/[\\w*/-]*)?\\*\\.(ts|tsx|jsx|go|rs|java|kt|vue|svelte|css|scss|rb|c|h|cc|cpp|hpp|cs|php|swift)`
const KIND = '(-t\n(ts|js|py|go|rust|java|ruby|php|css|c|cpp|swift|kotlin)\n)?'
/** The words of commands that list code, one a line. */
const LISTS_CODE = [
  new RegExp(`^rg\n${KIND}-[lwiFSs0]*l[lwiFSs0]*\n${KIND}[^-\n][^\n]*(\n${FOLDER})+$`),
  /^rg\n(-[lwiFSs0]*l[lwiFSs0]*\n-t\n|-t\n)(ts|js|py|go|rust|java|ruby|php|css|c|cpp|swift|kotlin)\n(-l\n)?[^-\n][^\n]*$/,
  new RegExp(`^git\nls-files(\n-z)?(\n--)?(\n${FILES})+$`),
  new RegExp(`^git\ngrep\n-[zwiEF]*l[zwiEF]*\n[^-\n][^\n]*\n--(\n${FILES})+$`),
  new RegExp(`^grep\n-(?=\\w*r)(?=\\w*l)[rlniEFwZ]+\n[^-\n][^\n]*\n--include=${FILES}\n(\\.|${FOLDER})$`),
  new RegExp(`^grep\n-(?=\\w*r)(?=\\w*l)[rlniEFwZ]+\n[^-\n][^\n]*(\n${FOLDER})+$`),
  new RegExp(`^find\n(\\.|${FOLDER})\n(-type\nf\n)?-name\n${FILES}(\n-print0)?$`),
]
