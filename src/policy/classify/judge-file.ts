import { resolve } from 'node:path'
import type { Reason } from '../../domain/assessment.ts'
import { type Fence, locatePath } from '../paths/fence.ts'
import { type Access, findTarget, isHeldWrite, isScratchFile, isTemporary, judgePath } from '../paths/judge-path.ts'
import { findSecretPart, globFindsProcess, globFindsSecret } from '../paths/secret-files.ts'
import { type Arg, HOLE } from '../shell/args.ts'
import type { ShellScope } from '../shell/scope.ts'
import type { Redirect } from '../shell/tree.ts'

interface FileContext {
  scope: ShellScope
  fence: Fence
  add: (reason: Reason) => undefined
  /** Whether nothing is written into a file that is opened for writing, so that what was in it is lost. */
  empties?: boolean
  /** The command whose output goes there. */
  words?: readonly Arg[] | undefined
  /** Whether the content of a file that is read can be seen, or ends up in another file. */
  shows?: boolean
}

/** Judges a word of a command as a path: adds what is risky about it, and nothing if it is LOW. */
export function judgeFile(arg: Arg, access: Access, where: FileContext): undefined {
  const { scope, fence, add } = where
  const { at } = arg
  if (arg.value === '' || arg.value === '-') return
  if (isStandardDevice(arg.value)) return
  if (!arg.known) {
    const fixed = arg.value.slice(arg.value.lastIndexOf(HOLE) + 1)
    const start = arg.value.slice(0, arg.value.indexOf(HOLE))
    // The known text around the unknown part can be enough: "$dir/.env", "~/.ssh/$x".
    const whole = arg.value.replaceAll(HOLE, '1')
    for (const part of [fixed, start, ...(start.startsWith('/') ? [whole] : [])]) {
      if (part === '' || part === '/') continue
      const reason = judgePath(part.startsWith('/') || part === start ? part : `/${part}`, 'read', {
        cwd: scope.cwd ?? fence.boundary,
        fence,
      })
      if (reason.risk === 'HIGH') return add({ ...reason, at })
    }
    const text = `${arg.text} is known only when it runs`
    // Names of the project's own files lead nowhere else.
    const isHeld = arg.listed === true && arg.value === HOLE
    const isOwn = isHeld && fence.look !== undefined
    if (access === 'write')
      return add({
        code: 'write.unknown',
        risk: 'HIGH',
        text,
        at,
        ...(isHeld && { held: true }),
        ...(isOwn && { own: true }),
      })
    return add(where.shows && !arg.listed ? { code: 'read.indirect', risk: 'MEDIUM', text, at } : unknownReason(arg))
  }
  if (arg.glob && (globFindsSecret(arg.value) || globFindsProcess(arg.value)))
    return add({ code: 'path.secret', risk: 'HIGH', text: `${arg.text} finds files with secrets`, at })
  if (scope.cwd === undefined && !arg.value.startsWith('/')) {
    const reason = judgePath(arg.value, 'read', { cwd: fence.boundary, fence })
    if (reason.risk !== 'LOW') return add({ ...reason, at })
    if (access === 'read') return
    const steers = judgePath(arg.value, 'write', { cwd: fence.boundary, fence })
    if (steers.risk === 'HIGH' && !/^path\.(outside|strange)$/.test(steers.code)) return add({ ...steers, at })
    return add({ code: 'write.unknown', risk: 'HIGH', text: `it is not known in which folder ${arg.text} is`, at })
  }
  if (access === 'read' && mayHoldSecrets(arg.value, scope.home))
    add({ code: 'path.maybe-secret', risk: 'MEDIUM', text: `${arg.text} often holds a password or a token`, at })
  if (access === 'read' && where.shows && DUMP.test(arg.value))
    add({ code: 'path.maybe-secret', risk: 'MEDIUM', text: `${arg.text} is a copy of data that people keep`, at })
  if (access === 'write' && arg.glob && HIDDEN_PATTERN.test(arg.value))
    return add({ code: 'write.pattern', risk: 'HIGH', text: `${arg.text} may be a file that steers others`, at })
  // In a pattern only the part before the first wildcard is a path.
  const fixed = arg.glob ? arg.value.replace(/[^/]*[*?[].*$/s, '') : arg.value
  const reason = judgePath(fixed === '' ? '.' : fixed, access, { cwd: scope.cwd ?? fence.boundary, fence })
  const tail =
    arg.glob && reason.risk === 'LOW'
      ? judgePath(arg.value, 'read', { cwd: scope.cwd ?? fence.boundary, fence })
      : reason
  const worse = tail.risk === 'HIGH' ? tail : reason
  const isScratch = worse.code === 'path.outside' && !arg.glob && isScratchFile(arg.value, fence)
  if (worse.risk !== 'LOW') add({ ...worse, at, ...(isScratch && { own: true }) })
  if (worse.risk !== 'HIGH') judgeElsewhere(arg, access, { scope, fence, add })
}

/** Judges the same word in the other folders that the command may be in. There only what is HIGH in itself counts. */
function judgeElsewhere(arg: Arg, access: Access, { scope, fence, add }: FileContext): undefined {
  if (arg.value.startsWith('/') || scope.folders.size < 2) return
  for (const cwd of scope.folders) {
    if (cwd === scope.cwd) continue
    const reason = judgePath(arg.value, access, { cwd, fence })
    if (reason.risk === 'HIGH' && !/^path\.(outside|strange)$/.test(reason.code)) return add({ ...reason, at: arg.at })
  }
}

/** Judges a word that may be a path: adds a reason only if it is the path of a secret. */
export function judgeSecret(arg: Arg, where: FileContext): undefined {
  // Other words cannot be the path of a secret, so the disk need not be read for them.
  if (arg.value.length < 3 || !(MAYBE_SECRET.test(arg.value) || findSecretPart(arg.value) !== undefined)) return
  const add = (reason: Reason) => (/^path\.(secret|history)$/.test(reason.code) ? where.add(reason) : undefined)
  judgeFile(arg, 'read', { ...where, add })
}

/** Settings files of a person or a program whose names are harmless, but that often hold a secret. */
function mayHoldSecrets(path: string, home: string): boolean {
  if (path.startsWith(`${home}/.`) && /^\.[\w.-]+$/.test(path.slice(home.length + 1))) return true
  return /(^|\/)(\.git\/config|wp-config\.php|kubeconfig\S*|config\/database\.yml|local\.settings\.json|config\/(prod|production|staging|live)\.(json5?|ya?ml|toml)|appsettings\.(Production|Staging)\.json|application-(prod|production|staging)\.(ya?ml|properties)|\.claude\/settings\.local\.json)$|^\/etc\/(passwd|group)$/.test(
    path,
  )
}

/** Copies of databases, by their names. */
const DUMP =
  /(^|\/)(backups?|dumps?|db-?(backups?|dumps?))\/([^/]+\/)*[^/]*\.(sql|dump|bak|rdb|bson|db|sqlite3?|csv|json|ndjson|archive|tar|tgz|zip)(\.(gz|bz2|xz|zst|lz4|enc|gpg))?$|\.(sql|dump|bak|rdb|bson)\.(gz|bz2|xz|zst|lz4)$|\.(pgdump|rdb)$/i

/** Paths, and words that mean a secret in plain text. Names such as `keyfile`, which are also names of variables, do not match. */
export const MAYBE_SECRET = /[./~_]|secret|credential|token|password|shadow|sudoers/i

/** `/dev/null` and the like, where no file is read or written. */
export function isStandardDevice(path: string): boolean {
  return /^\/dev\/(null|std(in|out|err)|tty|zero|fd\/\d+)$/.test(path)
}

/** A pattern in the name of a hidden file or folder, below one, or where it may match a leading dot: it can match any of them. */
const HIDDEN_PATTERN = /(^|\/)(\.[^/]*[*?[]|\.[a-z][^/]*\/.*[*?[]|[?[])/i

/** Judges a redirect: writing a file is HIGH in every spelling, reading one is like any other read. */
export function judgeRedirect(
  { redirect, targets }: { redirect: Redirect; targets: Arg[] },
  where: FileContext,
): undefined {
  const { op, at } = redirect
  if (redirect.target === undefined) return
  const [target] = targets
  if (target === undefined || targets.length > 1)
    return where.add({ code: 'write.unknown', risk: 'HIGH', text: 'a redirect whose file is not known', at })
  // `2>&1`, `>&-`, `<&3-` are descriptors, not files.
  if (/^[<>]&$/.test(op) && /^(\d+-?|-)$/.test(target.value)) return
  if (/\/dev\/(tcp|udp)\//.test(target.value)) {
    // Whether a port of this machine is open. What is sent could be a command for an engine.
    const isTried = target.known && /^\/dev\/tcp\/(127\.0\.0\.1|localhost|::1)\/\d+$/.test(target.value)
    if (isTried && where.words && printsNothing(where.words)) return where.add({ ...TRIED, at })
    return where.add({ code: 'net.raw', risk: 'HIGH', text: `${target.text} opens a connection`, at })
  }
  if (op === '<' || op === '<&') return judgeFile(target, 'read', { ...where, shows: true })
  if (target.known && isStandardDevice(target.value)) return
  if (isLog(target, where)) {
    noteWritten(target, where)
    return where.add({
      code: 'write.temp',
      risk: 'MEDIUM',
      text: `${op} writes ${target.text}, which only is read`,
      at,
    })
  }
  // Writing is HIGH for every other file; the reason for the file itself says more.
  if (target.known) judgeFile(target, 'write', where)
  noteWritten(target, where)
  const { cwd } = where.scope
  const isNear = target.known && cwd !== undefined && isTemporary(cwd, where.fence)
  const shown = isNear ? resolve(cwd, target.value) : target.known ? target.value : target.text
  where.add({
    ...(!where.empties && staysInSandbox(target, where) && { held: true }),
    ...(!where.empties && isOwnFile(target, where) && { own: true }),
    ...describeTarget(target, where, op === '>>'),
    code: 'write.redirect',
    risk: 'HIGH',
    text: `${op} writes ${shown}; the Write tool does this in the open`,
    at,
  })
}

const TRIED = { code: 'net.look', risk: 'MEDIUM', text: 'it tries a port of this machine' } as const

/** Whether a file is what a program prints, kept in /tmp under a name that nothing runs or is set up by. */
export function isLog(
  { known, glob, value }: Arg,
  { fence, empties }: Pick<FileContext, 'fence' | 'empties'>,
): boolean {
  if (known && !glob && !empties && DATA_TEXT.test(value) && isScratchFile(value, fence)) return true
  if (
    !known ||
    glob ||
    empties ||
    !/^\/tmp\/[\w.-]+\.(log|txt|out|err|pid|json|xml|html|csv|tsv|md|diff|patch|ya?ml)$/.test(value)
  )
    return false
  const place = locatePath(value, fence.boundary, fence)
  return place.where === 'outside' && place.path === value && isTemporary(value, fence)
}

/** Texts for a comparison, and data. A script that the command itself spells out is judged otherwise. */
const DATA_TEXT =
  /\.(ts|tsx|jsx|vue|svelte|css|scss|go|rs|java|kt|c|h|cc|cpp|hpp|cs|swift|sql|proto|graphql|orig|bak|old|new|base|ours|theirs|lcov|ndjson|jsonl|toml|ini|conf|dot|svg)$|^\/tmp\/[\w-]+$/

/**
 * Whether a file is empty, or endless, after a pipe of commands has written it: one of them prints nothing or without end, or reads the very
 * file, which the shell has emptied before.
 */
export function emptiesFile(
  target: Arg | undefined,
  pipe: readonly (readonly Arg[])[],
  inputs: readonly Arg[] = [],
): boolean {
  const written = bare(target?.value ?? HOLE)
  const isNamed = ({ value }: Arg) => {
    const read = bare(value)
    return (
      read === written ||
      (/[/=:]$/.test(read.slice(0, -written.length)) && read.endsWith(written)) ||
      written.endsWith(`/${read}`)
    )
  }
  const words = [...pipe.flat(), ...inputs]
  // Nobody writes so many by hand; each redirect would read all of them again.
  return words.length > MAX_WORDS || pipe.some(printsNothing) || words.some(isNamed)
}

const MAX_WORDS = 100

function bare(path: string): string {
  return path.replace(/^(\.\/+)+/, '')
}

function printsNothing(words: readonly Arg[]): boolean {
  return PRINTS_NOTHING.test(
    words
      .map(({ value }) => value)
      .join(' ')
      .trimEnd(),
  )
}

const PRINTS_NOTHING =
  /^(|:|true|false|cat \/dev\/null|echo( -[neE]+)*|printf( (\\n)+)?|head -[cn] ?0.*|head --(bytes|lines)[= ]0|yes( .*)?|.*\/dev\/(u?random|zero).*)$/

/** Notes that a file was written, in every folder in which the command may be. */
export function noteWritten({ value }: Arg, { scope }: Pick<FileContext, 'scope'>): undefined {
  for (const folder of scope.folders) scope.written.add(resolve(folder, value))
}

/** Whether the same command has written this file before. */
export function wasWritten({ value }: Arg, { scope }: Pick<FileContext, 'scope'>): boolean {
  return scope.written.size > 0 && [...scope.folders].some(folder => scope.written.has(resolve(folder, value)))
}

/** Notes that the same command compiles a program, if it is one in /tmp. */
export function noteCompiled({ value }: Arg, { scope, fence }: Pick<FileContext, 'scope' | 'fence'>): undefined {
  if (isTemporary(value, fence) && !value.split('/').includes('..')) scope.compiled.add(value)
}

/** Notes the text that a command spells out for a file. A second text for the same file makes it unknown what is in it. */
export function noteSpelled(
  { value }: Arg,
  text: string | undefined,
  { scope }: Pick<FileContext, 'scope'>,
): undefined {
  for (const folder of scope.folders) {
    const path = resolve(folder, value)
    scope.spelled.set(path, scope.spelled.has(path) || scope.folders.size > 1 ? undefined : text)
  }
}

/** The text of a file that the same command has spelled out. */
export function findSpelled(
  { value }: Arg,
  { scope, fence }: Pick<FileContext, 'scope'> & { fence?: Fence },
): string | undefined {
  const [folder, second] = scope.folders
  // Where the shell could not go to the folder, a file of the project would have that name.
  const isTwice =
    folder?.startsWith('/tmp/') && !value.startsWith('/') && fence?.look?.(resolve(fence.boundary, value)) !== undefined
  const path = resolve(folder ?? '/', value)
  const text = scope.spelled.get(path)
  // Python takes modules from the folder of the script first, and in one of /tmp there may be other files.
  const mayLoad =
    fence && isTemporary(path, fence) && /^\/tmp\/[^/]+\/.*\.py$/.test(path) && /\bimport\b/.test(text ?? '')
  return isTwice || mayLoad || folder === undefined || second !== undefined ? undefined : text
}

/** Whether a file that is written stays in a sandbox and steers nothing outside of it. */
export function staysInSandbox(arg: Arg, { scope, fence }: Pick<FileContext, 'scope' | 'fence'>): boolean {
  if (!arg.known || arg.glob || scope.cwd === undefined || arg.value === '') return false
  return [scope.cwd, ...scope.folders].every(cwd => isHeldWrite(arg.value, { cwd, fence }))
}

/** Whether a file that is written is an ordinary one of the project, as the disk shows: the Write tool may write it too. */
export function isOwnFile(arg: Arg, { scope, fence }: Pick<FileContext, 'scope' | 'fence'>): boolean {
  return (
    fence.look !== undefined &&
    staysInSandbox(arg, { scope, fence }) &&
    [...scope.folders].every(cwd => locatePath(arg.value, cwd, fence).where === 'inside')
  )
}

/** What a file that is written takes the place of, in every folder in which the command may be. */
export function describeTarget(
  { known, glob, value }: Arg,
  { scope, fence }: Pick<FileContext, 'scope' | 'fence'>,
  adds: boolean,
): Pick<Reason, 'target'> {
  if (!known || glob || scope.cwd === undefined) return {}
  const all = [...new Set([scope.cwd, ...scope.folders])].map(cwd => findTarget(value, { cwd, fence }))
  if (all.includes('kept')) return adds ? {} : { target: 'kept' }
  return all.includes(undefined) ? {} : { target: 'fresh' }
}

/** A word that is known only when it runs may be a flag, a path or a command. Names of the project's own files are none of these. */
export function unknownReason({ listed, text, at }: Arg): Reason {
  const code = listed ? 'arg.listed' : 'arg.unknown'
  return { code, risk: 'MEDIUM', text: `${text} is known only when it runs`, at }
}
