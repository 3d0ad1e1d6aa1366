import type { Reason } from '../../domain/assessment.ts'
import type { Fence } from '../paths/fence.ts'
import { type Access, judgePath } from '../paths/judge-path.ts'
import { globFindsSecret } from '../paths/secret-files.ts'
import { type Arg, HOLE } from '../shell/args.ts'
import type { Scope } from '../shell/scope.ts'
import type { Redirect } from '../shell/tree.ts'

interface FileContext {
  scope: Scope
  fence: Fence
  add: (reason: Reason) => undefined
}

/** A word of a command as a path: says what is risky about it, and nothing when it is LOW. */
export function judgeFile(arg: Arg, access: Access, { scope, fence, add }: FileContext): undefined {
  const { at } = arg
  if (arg.value === '' || arg.value === '-') return
  if (isStandardDevice(arg.value)) return
  if (!arg.known) {
    const fixed = arg.value.slice(arg.value.lastIndexOf(HOLE) + 1)
    const start = arg.value.slice(0, arg.value.indexOf(HOLE))
    // What stands around the unknown part can already say enough: "$dir/.env", "~/.ssh/$x".
    for (const part of [fixed, start]) {
      if (part === '' || part === '/') continue
      const found = judgePath(part.startsWith('/') || part === start ? part : `/${part}`, 'read', {
        cwd: scope.cwd ?? fence.boundary,
        fence,
      })
      if (found.risk === 'HIGH') return add({ ...found, at })
    }
    const risk = access === 'write' ? 'HIGH' : 'MEDIUM'
    return add({
      code: access === 'write' ? 'write.unknown' : 'arg.unknown',
      risk,
      text: `${arg.text} is known only when it runs`,
      at,
    })
  }
  if (arg.glob && globFindsSecret(arg.value))
    return add({ code: 'path.secret', risk: 'HIGH', text: `${arg.text} finds files with secrets`, at })
  if (scope.cwd === undefined && !arg.value.startsWith('/')) {
    const found = judgePath(arg.value, 'read', { cwd: fence.boundary, fence })
    if (found.risk !== 'LOW') return add({ ...found, at })
    if (access === 'write')
      add({ code: 'write.unknown', risk: 'HIGH', text: `it is not known in which folder ${arg.text} lies`, at })
    return
  }
  if (access === 'read' && mayHoldSecrets(arg.value, scope.home))
    add({ code: 'path.maybe-secret', risk: 'MEDIUM', text: `${arg.text} often holds a password or a token`, at })
  if (access === 'write' && arg.glob && HIDDEN_PATTERN.test(arg.value))
    return add({ code: 'write.pattern', risk: 'HIGH', text: `${arg.text} may be a file that steers others`, at })
  // In a pattern only the part before the first wildcard is a path.
  const fixed = arg.glob ? arg.value.replace(/[^/]*[*?[].*$/s, '') : arg.value
  const found = judgePath(fixed === '' ? '.' : fixed, access, { cwd: scope.cwd ?? fence.boundary, fence })
  const tail =
    arg.glob && found.risk === 'LOW' ? judgePath(arg.value, 'read', { cwd: scope.cwd ?? fence.boundary, fence }) : found
  const worse = tail.risk === 'HIGH' ? tail : found
  if (worse.risk !== 'LOW') add({ ...worse, at })
  if (worse.risk !== 'HIGH') judgeElsewhere(arg, access, { scope, fence, add })
}

/** The same word in the other folders that the command may be in: only what it must never be counts there. */
function judgeElsewhere(arg: Arg, access: Access, { scope, fence, add }: FileContext): undefined {
  if (arg.value.startsWith('/') || scope.folders.size < 2) return
  for (const cwd of scope.folders) {
    if (cwd === scope.cwd) continue
    const found = judgePath(arg.value, access, { cwd, fence })
    if (found.risk === 'HIGH' && !/^path\.(outside|strange)$/.test(found.code)) return add({ ...found, at: arg.at })
  }
}

/** A word that may or may not be a path: says something only if it is that of a secret. */
export function judgeSecret(arg: Arg, where: FileContext): undefined {
  if (arg.value.length < 3 || !MAYBE_SECRET.test(arg.value)) return
  const add = (reason: Reason) => (reason.code === 'path.secret' ? where.add(reason) : undefined)
  judgeFile(arg, 'read', { ...where, add })
}

/** Settings of a person or a program that are no secret by name, but often hold one. */
function mayHoldSecrets(path: string, home: string): boolean {
  if (path.startsWith(`${home}/.`) && /^\.[\w.-]+$/.test(path.slice(home.length + 1))) return true
  return /(^|\/)(\.git\/config|wp-config\.php|kubeconfig\S*|config\/database\.yml|local\.settings\.json|\.claude\/settings\.local\.json)$|^\/etc\/(passwd|group)$/.test(
    path,
  )
}

/** Saves the look at the disk for words that cannot be a path of a secret. */
const MAYBE_SECRET = /[./~_]|secret|credential|token|password|shadow|sudoers/i

/** `/dev/null` and the like: nothing is read or written. */
export function isStandardDevice(path: string): boolean {
  return /^\/dev\/(null|std(in|out|err)|tty|zero|fd\/\d+)$/.test(path)
}

/** A pattern in the name of a hidden file or folder, below one, or where a dot may stand: it can find any of them. */
const HIDDEN_PATTERN = /(^|\/)(\.[^/]*[*?[]|\.[a-z][^/]*\/.*[*?[]|[?[])/i

/** What a redirect does: writing a file is HIGH in every spelling, reading one is like any other read. */
export function judgeRedirect(
  { redirect, targets }: { redirect: Redirect; targets: Arg[] },
  where: FileContext,
): undefined {
  const { op, at } = redirect
  if (redirect.target === undefined) return
  const [target] = targets
  if (target === undefined || targets.length > 1)
    return where.add({ code: 'write.unknown', risk: 'HIGH', text: 'a redirect whose file is not known', at })
  // `2>&1`, `>&-`, `<&3-`: descriptors, no files.
  if (/^[<>]&$/.test(op) && /^(\d+-?|-)$/.test(target.value)) return
  if (/\/dev\/(tcp|udp)\//.test(target.value))
    return where.add({ code: 'net.raw', risk: 'HIGH', text: `${target.text} opens a connection`, at })
  if (op === '<' || op === '<&') return judgeFile(target, 'read', where)
  if (target.known && isStandardDevice(target.value)) return
  // Writing is HIGH whatever the file; the file's own reason says more about it.
  if (target.known) judgeFile(target, 'write', where)
  where.add({
    code: 'write.redirect',
    risk: 'HIGH',
    text: `${op} writes ${target.text}; the Write tool does this in the open`,
    at,
  })
}
