import { type Assessment, highestRisk, type Piece, type Reason } from '../../domain/assessment.ts'

/** The assessment of a call in a sandbox: what stays in there is LOW, and the rest counts as it is. */
export function leaveToSandbox(assessment: Assessment): Assessment {
  // What is held may depend on a file that was not read.
  if (assessment.hasUnread || !assessment.reasons.some(({ held }) => held)) return assessment
  const acts = findActs(assessment.pieces)
  const [left, rest] = [true, false].map(wanted =>
    assessment.reasons.filter(reason => isLeftToSandbox(reason, acts) === wanted),
  ) as [Reason[], Reason[]]
  if (left.length === 0) return assessment
  const kept = left.map(reason => ({ ...reason, risk: 'LOW' as const, text: `the sandbox holds it: ${reason.text}` }))
  return { ...assessment, risk: highestRisk(rest.map(reason => reason.risk)), reasons: [...rest, ...kept] }
}

/** Reasons that a sandbox settles by itself wherever they are held. */
const SETTLED: ReadonlySet<string> = new Set(
  'proc.kill proc.listed file.delete env.hijack cwd.outside path.outside path.secret net.serve tool.outside tool.flag'.split(
    ' ',
  ),
)

/**
 * Reasons about files that are made or changed, each with the programs that may take part. A sandbox has the network and the project, and
 * one command can write a file and run it before anybody has read it: so they are settled only if the rest of the command looks and prints.
 */
const MADE: Readonly<Record<string, RegExp | undefined>> = {
  'write.redirect': /^$/,
  'file.mode': /^chmod$/,
  'file.link': /^ln$/,
  'file.archive': /^(tar|unzip)$/,
  'net.download': /^(curl|wget)$/,
  'write.unknown': /^(xargs|sed|git|fd)$/,
}

function isLeftToSandbox(reason: Reason, acts: Acts): boolean {
  const { held, code, text } = reason
  if (!held) return false
  if (code === 'tool.flag') return !FAR_REACHING.test(text.replace(/ (is|changes|may) .*$/s, ''))
  if (SETTLED.has(code)) return true
  const partners = MADE[code]
  if (partners === undefined) return false
  // A link may lead a later write to a file that steers others, what was fetched may become one, and a copy may replace what is listed.
  if (
    code !== 'write.redirect' &&
    (acts.writes.length > 0 || acts.quiet.some(([name = '']) => /^(tee|cp|mv|touch|mkdir)$/.test(name)))
  )
    return false
  if (code === 'write.unknown' && !listsCode(acts)) return false
  if (acts.others.every(([name = '']) => partners.test(name))) return true
  return code === 'write.redirect' && isOutput(reason, acts)
}

/** Words of a flag or a variable that may run or send something, choose another machine, or choose a folder that is emptied. */
const FAR_REACHING =
  /cache|clean|clear|delete|erase|remove|purge|reset|force|out|dir|dest|target|file|path|env|prod|stag|live|host|url|addr|regist|remote|token|key|deploy|publish|release|upload|push|exec|cmd|command|script|hook|[;|&`$<>(]|\s|:\/\/|=\.?\/?( |$)/i

/** What the commands of a request are. */
interface Acts {
  /** Commands that only look, print, or make and move files, which the policy judges by their names. */
  quiet: (readonly string[])[]
  /** All others. */
  others: (readonly string[])[]
  /** Files that are written by redirection, each with the others that run in the same command or pipe. */
  writes: { reason: Reason; within: number }[]
}

function findActs(pieces: readonly Piece[]): Acts {
  const acts: Acts = { quiet: [], others: [], writes: [] }
  for (const piece of pieces) visit(piece)
  return acts

  function visit(piece: Piece): void {
    const before = acts.others.length
    const written = acts.writes.length
    const { argv } = piece
    if (argv) (QUIET.has(argv[0] ?? '') ? acts.quiet : acts.others).push(argv)
    for (const reason of piece.reasons) if (reason.code === 'write.redirect') acts.writes.push({ reason, within: 0 })
    for (const inner of piece.pieces) visit(inner)
    if (argv || piece.piped) for (const write of acts.writes.slice(written)) write.within = acts.others.length - before
  }
}

/**
 * Programs that run nothing, as long as no other reason says so. Wrappers are among them, because what they run is a command of its own.
 */
const QUIET: ReadonlySet<string> = new Set(
  `echo printf cat tac head tail grep egrep fgrep rg wc ls sort uniq cut tr sed jq diff cmp comm paste join column nl fold fmt rev seq date
   pwd cd true false : test [ sleep basename dirname stat file du df which mkdir touch cp mv tee base64 md5sum sha256sum xxd od tree find wait
   nohup timeout time nice stdbuf`.split(/\s+/),
)

/**
 * Whether a redirect keeps what one program of the project prints: in a log by its name or in /tmp, and no command reads it but those that
 * look. With a second program it could be run by that one.
 */
function isOutput({ text, at }: Reason, { others, writes }: Acts): boolean {
  const [, name = ''] = /^(?:\S+|tee) writes (\S+); /.exec(text) ?? []
  const write = writes.find(({ reason }) => reason.text === text && reason.at === at)
  if (others.length !== 1 || write?.within !== 1 || !OUTPUT.test(name)) return false
  const base = name.slice(name.lastIndexOf('/') + 1)
  return !others.some(words => words.some(word => word.includes(base)))
}

const OUTPUT =
  /^\/tmp\/[\w./-]+$|^[\w./-]*\.(log|out|err|patch|diff)$|^([\w./-]*[/_.-])?(out|output|results?|report|errors?|stdout|stderr|log)([_.-]\w+)*\.txt$/

/**
 * Whether every program that lists files lists ordinary code: by an ending that only code has, or not hidden and below a folder for code. Files
 * that steer tools are at the top, hidden, or end otherwise.
 */
function listsCode({ quiet, others }: Acts): boolean {
  const lists = [...quiet, ...others].filter(
    ([name = '', ...words]) => /^(rg|grep|git|find|fd)$/.test(name) && !isFilter(name, words),
  )
  return lists.length > 0 && lists.every(isCodeList)
}

/** `grep x` in a pipe passes on some of the lines that it gets. */
function isFilter(name: string, words: readonly string[]): boolean {
  return /^(rg|grep)$/.test(name) && words.filter(word => !word.startsWith('-')).length === 1 && !words.some(LISTS)
}
const LISTS = (word: string) => /^(-\w*[lLr]\w*|--files.*|--rec.*)$/.test(word)

function isCodeList([name = '', ...words]: readonly string[]): boolean {
  if (words.some(word => /(^|\/)\.\w|^(-\w*[uH.]\w*|--(hidden|unr|no-ig).*|-o|-or|!|-not)$/.test(word))) return false
  const operands = words.filter(word => !word.startsWith('-'))
  const endings = words.filter(
    (word, at) => /^(-name|-e|-g|--glob|--extension)$/.test(words[at - 1] ?? '') || /^--include=/.test(word),
  )
  const places = operands.slice(name === 'git' ? 1 + Number(operands[0] === 'grep') : 1)
  switch (name) {
    case 'rg':
      return places.length > 0 && places.every(place => CODE_FOLDER.test(place))
    case 'git':
      return (
        /^(ls-files|grep)$/.test(operands[0] ?? '') && places.length > 0 && places.every(place => CODE_FILE.test(place))
      )
    default:
      return (
        endings.length > 0 &&
        endings.every(ending => CODE_FILE.test(ending.replace(/^--include=/, '').replace(/^(?=\w+$)/, '*.')))
      )
  }
}

const CODE_FOLDER = /^(\.\/)?(src|lib|test|tests|spec|app|components|internal|pkg|cmd)(\/[\w-][\w.-]*)*\/?$/
const CODE_FILE =
  /^(:\/)?((src|lib|test|tests|spec|app|components|internal|pkg|cmd)\/)?([\w*-][\w*.-]*\/)*\*\.(ts|tsx|jsx|go|rs|java|kt|vue|svelte|s?css|less|rb|cc?|h|cpp|hpp|cs|php|swift)$/
