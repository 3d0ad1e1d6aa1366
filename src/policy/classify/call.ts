import type { Piece, Reason } from '../../domain/assessment.ts'
import type { Risk } from '../../domain/session.ts'
import { type Fence, locatePath } from '../paths/fence.ts'
import { type Access, isTemporary } from '../paths/judge-path.ts'
import { type Arg, HOLE } from '../shell/args.ts'
import { bindVariable, expandText, expandWords } from '../shell/expand.ts'
import { noteFolder, type ShellScope } from '../shell/scope.ts'
import type { ShellNode } from '../shell/tree.ts'
import { addPiece, addReason } from './assessment-tree.ts'
import { judgeAssignment } from './environment.ts'
import { judgeFile, judgeSecret, unknownReason } from './judge-file.ts'

/** What a program gets on standard input, if that is not the agent's own. */
export interface StandardInput {
  /** Whether the input comes from another program. */
  piped: boolean
  /** The text of a here-document or here-string, or the file of `<`. */
  text?: Arg
  file?: Arg
  /** The programs before it in the pipe, in order. */
  upstream?: readonly Upstream[]
}

/** A program call, with its arguments and standard input, as rules see it. Rules report with its methods. */
export interface ProgramCall {
  /** The base name, spelled as in the table of programs. */
  name: string
  head: Arg
  args: Arg[]
  feed: StandardInput
  scope: ShellScope
  fence: Fence
  /** Whether the shell itself looks the program up, so that a function of that name counts. */
  direct: boolean
  /** Adds a reason; `at` is the word that it is about, by default the program's name. */
  say(code: string, risk: Risk, text: string, at?: Arg): undefined
  /** Adds a reason about what a sandbox holds: inside of one nobody need be asked about it. */
  hold(code: string, risk: Risk, text: string, at?: Arg): undefined
  /** The same for what is everyday also without a sandbox, because the project itself shows what it is. */
  settle(code: string, risk: Risk, text: string, at?: Arg): undefined
  /** Says more of the last reason. */
  note(more: Pick<Reason, 'target'>): undefined
  /** Judges what a file of the project becomes: `make` returns its new text, or `undefined` if that is not known. */
  change(file: Arg, make: MakeText): undefined
  /** Judges a word as a path; a hole makes it unknown. Adds nothing for a LOW path. */
  path(arg: Arg, access: Access): undefined
  /** Adds a reason only if the word is the path of a secret. */
  secret(arg: Arg): undefined
  /** Adds the reason that a word is known only when it runs. */
  unknown(arg: Arg): undefined
  /** Judges words as a command of their own, run by this one. */
  run(args: readonly Arg[]): undefined
  /** The shell sets a variable from here on (`export A=1`). */
  set(name: string, value: Arg, at: Arg): undefined
  /** The shell goes to another folder. */
  move(path: string): undefined
  /** Judges a text that a shell will read. */
  shell(script: Arg): undefined
  /** Judges the lines of a script file, given its real path and the word that names it. */
  script(path: string, file: Arg): undefined
  /** Judges lines that a file of the project gives to a shell; `at` is the word that makes them run. */
  lines(source: ReadLines, at: Arg): undefined
}

/** Makes the new text of a file from its old one, which is `undefined` if there is none. */
export type MakeText = (before: string | undefined) => {
  after: string | undefined
  whole?: true
  copied?: true
  added?: string | undefined
  inserted?: string | undefined
  swaps?: readonly { from: string; to: string }[] | undefined
}

/** Lines of a file that a program gives to a shell: recipes of make, scripts of a package, hooks of git. */
export interface ReadLines {
  /** Names the file and what of it is run. What runs itself is read once. */
  id: string
  /** As a person would name it. */
  name: string
  /** The folder in which they run, if it is not the current one. */
  cwd?: string
  /** Set if they are a whole script, which `id` names. */
  whole?: true
  /** Each text is read by a shell of its own; `line` is the number of its first line. */
  lines: readonly { text: string; line?: number }[]
  /**
   * `task`: a step of the project's own build. `edit`: one that a change would make. `hook`: git runs it for the person.
   * `script`: lines that a change would put into a script.
   */
  is?: 'task' | 'edit' | 'hook' | 'script'
}

/**
 * A rule for a program: adds reasons, or none if the call is LOW. The methods of a call return `undefined`, so that a rule can
 * end with `return call.say(…)`.
 */
export type ProgramRule = (call: ProgramCall) => void

export type ProgramRules = Record<string, ProgramRule>

interface CallContext {
  piece: Piece
  scope: ShellScope
  feed: StandardInput
  depth: number
  fence: Fence
  run: (inner: readonly Arg[], piece: Piece) => undefined
  shell: (script: Arg) => undefined
  script: (path: string, file: Arg) => undefined
  lines: (source: ReadLines, at: Arg) => undefined
  change: (file: Arg, make: MakeText) => undefined
}

/** The call that a rule gets; its methods add reasons to the piece. `undefined` if there are no words. */
export function createCall(args: readonly Arg[], context: CallContext): ProgramCall | undefined {
  const { piece, scope, fence, feed } = context
  const [head, ...rest] = args
  if (head === undefined) return undefined
  const where = { scope, fence, add: (reason: Piece['reasons'][number]) => addReason(piece, reason) }
  const call: ProgramCall = {
    name: '',
    head,
    args: rest,
    feed,
    scope,
    fence,
    direct: context.depth === 0,
    say: (code, risk, text, at = head) => addReason(piece, { code, risk, text, at: at.at }),
    hold: (code, risk, text, at = head) => addReason(piece, { code, risk, text, at: at.at, held: true }),
    settle: (code, risk, text, at = head) =>
      addReason(piece, { code, risk, text, at: at.at, held: true, ...(fence.look && { own: true }) }),
    note: more => {
      Object.assign(piece.reasons.at(-1) ?? {}, more)
    },
    change: context.change,
    path: (arg, access) => {
      if (access === 'read' && LISTS.test(call.name) && rest.includes(arg) && staysBelow(arg)) return
      judgeFile(arg, access, { ...where, shows: SHOWS.has(call.name) })
    },
    secret: arg => judgeSecret(arg, where),
    unknown: arg => addReason(piece, unknownReason(arg)),
    set: (name, value, at) => {
      const exported = /^(export|declare|typeset)$/.test(call.name)
      judgeAssignment({ name, value, at: at.at, alone: true, exported }, where.add)
      bindVariable(name, value, scope)
    },
    move: path => {
      const place = locatePath(path, scope.cwd ?? fence.boundary, fence)
      scope.cwd = place.where === 'strange' ? undefined : place.path
      if (scope.cwd !== undefined) noteFolder(scope, scope.cwd)
      if (place.where === 'inside') return
      const isOwn = place.where === 'outside' && (place.path === '/tmp' || isTemporary(place.path, fence))
      const text = `${path} is outside the project`
      addReason(piece, {
        code: 'cwd.outside',
        risk: 'MEDIUM',
        text,
        at: head.at,
        ...(isOwn && { held: true }),
        ...(scope.made.has(place.where === 'outside' ? place.path : '') && { own: true }),
      })
    },
    run: inner => {
      const [first] = inner
      if (first === undefined) return
      const text = inner.map(arg => arg.value.replaceAll(HOLE, '…')).join(' ')
      const below = addPiece(piece, { text, at: first.at })
      below.derived = true
      context.run(inner, below)
    },
    shell: context.shell,
    script: context.script,
    lines: context.lines,
  }
  return call
}

/** Programs that show the names and the sizes of files, and nothing that is in them. */
const LISTS = /^(ls|dir|vdir|gls|exa|eza|lsd|stat|du)$/

/** A path that by its spelling does not leave the folder of the command. */
function staysBelow({ known, value }: Arg): boolean {
  return known && /^[\w.*?[\]!/@+-]+$/.test(value) && !/^\/|(^|\/)\.\.(\/|$)/.test(value)
}

/** Programs that print the content of the files that they read, or copy it. */
const SHOWS = new Set(
  `cat tac nl head tail less more most bat batcat rev cut paste join comm column fold fmt expand unexpand pr sort uniq shuf tsort
   grep egrep fgrep zgrep rg ag ack look diff colordiff sdiff diff3 cmp zcat zless zmore bzcat xzcat zstdcat gunzip bunzip2 unxz unzstd od hexdump hd xxd strings base64
   base32 basenc jq gojq jaq yq gron jless fx dasel xmllint csvcut csvgrep csvsort csvjson csvformat csvstack sed gsed awk gawk mawk nawk
   iconv dos2unix cp gcp mv ln install rsync dd split csplit gzip bzip2 xz zstd lz4 brotli pigz mapfile readarray sqlite3 sqlite`.split(
    /\s+/,
  ),
)

/** Whether a program shows what is in the files that it reads. */
export function showsFiles(name: string): boolean {
  return SHOWS.has(name.slice(name.lastIndexOf('/') + 1))
}

/** A program that comes before another in a pipe. */
export interface Upstream {
  words: Arg[]
  /** Its here-document. */
  text?: Arg
  /** Set if it is one of several commands, which may all print. */
  among?: true
}

/** What the later parts of a pipe need to know about an earlier part. */
export function readUpstream(node: ShellNode, scope: ShellScope): Upstream {
  if (node.is === 'command') {
    const body = node.redirects.findLast(redirect => redirect.body !== undefined)?.body
    return { words: expandWords(node.words, scope), ...(body && { text: expandText(body, scope) }) }
  }
  const last = node.is === 'pipeline' ? node.parts.at(-1) : node.body.at(-1)
  return last ? { ...readUpstream(last, scope), among: true } : { words: [] }
}
