import type { Piece, Reason } from '../../domain/assessment.ts'
import type { Fence } from '../paths/fence.ts'
import type { ReadLines } from './call.ts'

/**
 * The text of a shell script; `undefined` if it cannot be read, is no text, or another program runs it. `argv` are the words of the call, if they are all
 * that the script gets.
 */
export function readScript(path: string, fence: Fence, argv?: readonly string[] | false): string | undefined {
  // Maven's wrapper downloads and unpacks Maven, and is part of most Java projects.
  if (/(^|\/)mvnw$/.test(path)) return undefined
  const found = fence.look?.(path)
  if (found?.is !== 'file' || found.bytes.includes(0)) return undefined
  const text = found.bytes.toString('utf8')
  const [, program] = /^#!\s*(.*)/.exec(text) ?? []
  if (program !== undefined && !SHELL_LINE.test(program)) return undefined
  const isAlone =
    argv &&
    /^((ba|z|da)?sh|[\w./-]+\/[\w.-]+)$/.test(argv[0] ?? '') &&
    path.endsWith(`/${argv.at(-1)?.replace(/^(\.{0,2}\/)+/, '')}`)
  return isAlone && !SETS_WORDS.test(text) ? text.replace(ASKED, found => found.replace(/.*/g, '')) : text
}

/** What may give a script other words than its call has, or words to a part of it. */
const SETS_WORDS =
  /\bset\b(?![ \t]+[-+][a-zA-Z]+([ \t]+(pipefail|errexit|nounset))?[ \t]*$)|<<|\(\s*\)|\b(function|source|eval|(?<!-)exec|getopts|shopt)\b|^[ \t]*\.[ \t]/m
/** A part of a script that runs only with a word in its call: `if [[ "${1:-}" == "--all" ]]; then`. */
const ASKED =
  /^if \[\[? "\$(1|\{1(:-)?\})" ==? "?--[a-z][a-z-]*"? \]\]?; then\n((?!.*\b(if|fi|else|elif|case|done|esac)\b)[ \t]+.*\n)+fi$/gm

const SHELL_LINE = /(^|[/\s])(ba|da|z|k|mk|a|ya)?sh(\s|$)/

/** Scripts that run scripts are followed this far. */
const MAX_FILES = 3

/** Whether a script that is run here is walked: not too deep, and not one that runs itself. */
export function mayFollow(id: string, { files = [] }: { files?: readonly string[] }): boolean {
  return files.length < MAX_FILES && !files.includes(id)
}

interface WalkedText {
  text: string
  /** The number of its first line in the file; left out where the file has no lines of its own. */
  line: number | undefined
  source: ReadLines
}

/**
 * What is HIGH in a text that was walked, with its line, what reaches beyond this machine, and whether it was too long to be walked to its end.
 * Otherwise a script would do unasked what is asked about if it is typed.
 */
export function findScriptRisks(piece: Piece, walked: WalkedText): Omit<Reason, 'at'>[] {
  const { text, line: first } = walked
  const found: Omit<Reason, 'at'>[] = []
  const visit = ({ reasons, pieces }: Piece) => {
    for (const reason of reasons) {
      if (reason.code === 'shell.too-many')
        found.push({ code: 'script.unread', risk: 'MEDIUM', text: ` has ${reason.text}` })
      if (walked.source.is === 'script' && !LEAKS.test(reason.code)) continue
      const isFar = walked.source.is !== 'hook' && !reason.held && FAR.test(reason.code)
      if (!isFar && (reason.risk !== 'HIGH' || isOrdinary(reason, walked))) continue
      const line = text.slice(0, reason.at?.[0] ?? 0).split('\n').length - 1
      const where = first === undefined ? '' : ` line ${first + line}`
      found.push({ code: reason.code, risk: reason.risk, text: `${where}: ${reason.text}` })
    }
    pieces.forEach(visit)
  }
  visit(piece)
  return found
}

/** Reasons about what others see or use: a deployment, a push, a message, a step that goes back, and secrets that are shown. */
const FAR = /^(infra\.(change|remote)|git\.push|net\.change|env\.print|script\.far|secret\.maybe)$/

/** Reasons about secrets and files that a line sends away, and code from the network. */
const LEAKS =
  /^(net\.(send|run|upload|raw|metadata)|path\.(secret|history|guard|startup)|secret\.\w+|pipe\.interpreter|read\.everything)$/

/**
 * What is HIGH for a typed command and ordinary in a script: removing what a build makes, setting variables for what the script
 * itself starts, writing files (a file outside of the project, or one that steers others, has a reason of its own), and words that
 * depend on the script's arguments. A program whose name a command prints is not ordinary.
 */
function isOrdinary(reason: Reason, { text, source }: WalkedText): boolean {
  const { code, at } = reason
  if (code === 'name.unknown') return at === undefined || !/\$\(|`/.test(text.slice(...at))
  // The same as if it was typed, unless another line could lead it elsewhere.
  if (code === 'file.delete' && reason.own && !/\b(ln|mv|mount|cp|rsync|tar|unzip|IFS)\b/.test(text)) return true
  if (code === 'file.delete')
    return at !== undefined && (removesBuild(text, at[0], source) || findsBuild(text, at[0], isStep(source)))
  // Steps of a build often make a file executable, or hold a short program where others have a file: both may be run anyway.
  // Of a program that the policy does not know, flags and words like `-f` and `format` say little in them.
  if (code === 'file.mode') return isStep(source) && at !== undefined && makesExecutable(text, at[0])
  if (code === 'code.alarming' || code === 'words.force') return source.is === 'task'
  if (code === 'words.destructive') return isStep(source) && /^-*format /.test(reason.text)
  // A hook is the person's own: an agent may not write it, and it may do with git what it was made for.
  if (code.startsWith('boundary.')) return source.is === 'hook'
  return ORDINARY.has(code)
}

function isStep({ is }: ReadLines): boolean {
  return is === 'task' || is === 'edit'
}

/** The words of the command at this place, without the quotes around whole words. */
function cutWords(text: string, from: number): string[] {
  const [command = ''] = /^[^;&|\n]*/.exec(text.slice(from)) ?? []
  const words = command.replace(/\s+[12]?>\s*\/dev\/null/, '').trim()
  return words.split(/\s+/).map(word => word.replace(/^(["'])(.*)\1$/, '$2').slice(0, MAX_WORD))
}

/** No name of a file that a build makes is longer. */
const MAX_WORD = 200

function makesExecutable(text: string, from: number): boolean {
  const [program, mode = '', ...files] = cutWords(text, from)
  return program === 'chmod' && /^([augo]*\+x|0?755)$/.test(mode) && files.every(file => PLAIN_PATH.test(file))
}

/** Whether the command at this place removes what builds make, and nothing else, in a script that stays in its project. */
function removesBuild(text: string, from: number, source: ReadLines): boolean {
  const moves = [...text.matchAll(/\b(?:cd|pushd)\b([^;&|\n]*)/g)].map(([, target = '']) => target.trim())
  if (!moves.every(target => OWN_FOLDER.test(target) || (isStep(source) && PLAIN_PATH.test(target)))) return false
  const [program = '', ...words] = cutWords(text, from)
  const flags = words.filter(word => word.startsWith('-'))
  const files = words.filter(word => !word.startsWith('-'))
  if (!/^(rm|rimraf|del-cli|del)$/.test(program) || files.length === 0) return false
  if (!flags.every(flag => /^(-[rRfv]+|--|--glob|-g)$/.test(flag))) return false
  return files.every(
    file => BUILD_FOLDER.test(file) || (isStep(source) && LEFT_BEHIND.test(file) && !SOURCES.test(file)),
  )
}

/** Whether the command around this place is a `find` for what compilers and test runners leave behind. */
function findsBuild(text: string, from: number, isOfStep: boolean): boolean {
  const start = Math.max(0, ...[...text.slice(0, from).matchAll(/[;&|\n]/g)].map(({ index }) => index + 1))
  const [command = ''] = /^[^&|\n]*/.exec(text.slice(start)) ?? []
  const shape = isOfStep ? FINDS_BUILD : FINDS_CACHE
  return shape.test(command.trim()) && !/\s-(o|or|not)\s|!/.test(command)
}

/** Caches of Python, which no other program makes by these names. */
const FINDS_CACHE =
  /^find\s+(\.|[A-Za-z][\w/-]*)\s+(-type\s+d\s+)?-name\s+["']?(__pycache__|\.(pytest|mypy|ruff)_cache)["']?\s+(-type\s+d\s+)?(-prune\s+)?-exec\s+rm\s+-rf?\s+["']?\{\}["']?\s+(\+|\\;)(\s+2>\s*\/dev\/null)?$/

const FINDS_BUILD =
  /^find\s+(\.|\w[\w./-]*)\s+(-type\s+[df]\s+)?-name\s+["']?(\*\.(pyc|pyo|o|a|so|d|class|gcno|gcda|egg-info|tsbuildinfo)|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\*~|node_modules|dist)["']?\s+(-type\s+[df]\s+)?(-prune\s+)?(-delete|-exec\s+rm\s+(-[rf]+\s+)?["']?\{\}["']?\s+(\+|\\;))$/

/** A path that stays below the current folder. */
const PLAIN_PATH = /^(\.\/)?[\w*@][\w.*@-]*(\/[\w*@][\w.*@-]*)*\/?$/
const BUILD_FOLDER =
  /^(\.\/)?(dist|build|out|target|coverage|\.cache|\.next|\.turbo|node_modules)(\/[\w@-][\w.@-]*)*\/?$/
/** What the steps of a build remove of their own project: any plain path, and hidden names that tools are known to make. */
const LEFT_BEHIND =
  /^(\.\/)?((\w|@|\*)[\w.*@-]*(\/(\w|@|\*)[\w.*@-]*)*|([\w@-]+\/)*\.(cache|next|turbo|pytest_cache|mypy_cache|ruff_cache|nyc_output|parcel-cache|nuxt|output|svelte-kit|vite|eslintcache|coverage|tsbuildinfo|tox|browser)(\/[\w*-]+)*)\/?$/
/** Everything, a whole folder that people write, or all files of a language. */
const SOURCES =
  /^(\.\/)?(\*[*/]*|(\*\*?\/)*\*\.([cm]?[jt]sx?(?<!\.d\.ts)|py|c|h|cc|cpp|hpp|go|rs|rb|java|kt|swift|md|json|toml|ya?ml)|(src|apps?|tests?|specs?|packages|scripts|include|public|assets|internal|cmd|pkg|migrations)(\/\*+)?)\/?$/
/** The folder of the script itself, or the one above it, where scripts usually go first. */
const OWN_FOLDER = /^(--\s+)?"?\$\(dirname\s+("\$0"|"\$\{BASH_SOURCE(\[0\])?\}"|\$0)\)(\/\.\.)?"?$/

const ORDINARY = new Set([
  'env.hijack',
  'write.redirect',
  'write.flag',
  'write.unknown',
  'script.unknown',
  'code.unknown',
  'shell.unknown-text',
  'shell.unreadable',
  'shell.too-many',
  'wrapper.deep',
])
