import { findAdded, type WrittenChange } from './written-text.ts'

// What keeps people out of the program that is worked on: comparisons of secrets, logins, roles. A change that takes it away, or goes around it, is
// asked about.

const MAX_TEXT = 200_000

/** Why a change of a file that is no test would let in whom it kept out. */
export function explainLostGuard(path: string, change: WrittenChange): string | undefined {
  const guard = findLostGuard(change)
  if (guard) return `${guard} would be gone, which protects it`
  if (goesAroundGuard(change) || letsInByWord(change)) return 'what protects it would be asked for nothing'
  return CODE.test(path) && opensDoor(path, change) ? 'it would let in whom it kept out' : undefined
}

/** Whether code that is added makes the answer of a guard not count: `true || verify(…)`, or a plain `return true` just before it. */
function goesAroundGuard(change: WrittenChange): boolean {
  const text = (change.after ?? change.added ?? '').slice(0, MAX_TEXT)
  const added = new Set(findAdded(change).map(line => line.trim()))
  const lines = text.split('\n').map(line => line.trim())
  return lines.some((line, at) => {
    if (!added.has(line) || !AROUND.test(line)) return false
    return namesGuard(lines.slice(at, at + (/^return\b[^|&]*$/.test(line) ? 4 : 1)).join('\n'))
  })
}

/** Whether code that is added lets in whoever says a fixed word, or any machine with a variable, before what refuses others is asked. */
function letsInByWord(change: WrittenChange): boolean {
  const added = new Set(findAdded(change).map(line => line.trim()))
  const lines = (change.after ?? change.added ?? '')
    .slice(0, MAX_TEXT)
    .split('\n')
    .map(line => line.trim())
  return lines.some((line, at) => {
    if (!added.has(line) || !FIXED_WORD.test(line) || KIND_OF_REQUEST.test(line)) return false
    if (namesGuard(line)) return true
    const then = lines.slice(at, at + 4).join('\n')
    const branch = then.slice(0, then.indexOf('}') < 0 ? undefined : then.indexOf('}'))
    return LETS_IN.test(branch) && REFUSES.test(lines.slice(at + 1, at + 24).join('\n'))
  })
}

const FIXED_WORD =
  /([=!]==?|\bis\b|\beq\b)\s*(['"`])[^'"`\n]+\2|(['"`])[^'"`\n]+\3\s*([=!]==?|\.equals\()|\.(startsWith|endsWith|includes|equals|start_with\?|HasPrefix)\(\s*['"`][^'"`\n]+['"`]\s*\)|\bif\b[^\n]{0,80}(process\.env|os\.environ|os\.getenv|os\.Getenv|ENV\[)[^\n]{0,60}(SKIP|BYPASS|DISABLE|DEBUG|NO_?AUTH|DEV|TEST|LOCAL)/
/** What a request is for, and who asks: those who were let in before. */
const KIND_OF_REQUEST =
  /\bmethod\b|\b(roles?|permissions?|scopes?|plan|kind|type|status|action)\b\s*(\)|\[|[=!]==?|\.)|['"`]\/?(api\/)?(health\w*|ready\w*|live\w*|metrics|ping|status|login|favicon[\w.]*|public\/?|static\/?|assets\/?|docs\/?|OPTIONS|HEAD)['"`]/
const LETS_IN =
  /\bnext\(\s*\)|\breturn\s+(await\s+)?([tT]rue|next\b|nil\b|\w*[uU]ser\b|\{\s*(ok|valid|allowed|success)\b)|\b(c\.Next|next\.ServeHTTP|h\.ServeHTTP|chain\.doFilter|call_next|proceed|allow\w*)\(|\byield\b/
const REFUSES =
  /\b(401|403)\b|[uU]nauthori[sz]ed|[fF]orbidden|\b(timingSafeEqual|compare_digest|ConstantTimeCompare|secure_compare|hash_equals|verify\w*|bcrypt\.\w+|argon2\.\w+|authenticate\w*|checkPassword\w*|check_password\w*|CompareHashAndPassword)\s*\(/

const AROUND =
  /\b([tT]rue|1)\s*(\|\||or\b)|(\|\||\bor)\s+([tT]rue|1)\b|\b([fF]alse|0)\s*(&&|and\b)|(&&|\band)\s+[fF]alse\b|^return\s*(\(?\s*([tT]rue|next\(\))\s*\)?)?\s*;?$|\bif\s*\(?\s*([fF]alse|0)\b/

/** Calls in code that compare secrets, or keep attacks and secrets out. */
const GUARDS =
  /\b(timingSafeEqual|compare_digest|ConstantTimeCompare|constant_time_compare|secure_compare|hash_equals|csrf\w*|helmet|rateLimit\w*|verifySignature|requireAuth\w*|isAuthenticated|ensureAuthenticated|authenticateToken|login_required|permission_required|DOMPurify\.sanitize|sanitizeHtml)\s*\(|\b(redact)\s*[:=]|@(login_required|permission_required|PreAuthorize|Secured|csrf_protect)\b/g

/** Whether a text names one. */
function namesGuard(text: string): boolean {
  return text.search(GUARDS) >= 0
}

/** A guard that a change takes out of a file, or that a program replaces by something else. */
function findLostGuard({ before, after, added, inserted, copied }: WrittenChange): string | undefined {
  const list = (text = '') =>
    [...text.slice(0, MAX_TEXT).matchAll(GUARDS)].map(([name]) => name.replace(/\s*[(:=]$/, ''))
  if (before !== undefined && after !== undefined && !copied) {
    const kept = list(after)
    return list(before).find(name => !kept.includes(name))
  }
  if (after !== undefined || inserted === undefined) return undefined
  const put = list(inserted)
  return list(added?.replaceAll('\\', '')).find(name => !put.includes(name))
}

const CODE = /\.([cm]?[jt]sx?|py|rb|php|java|kts?|scala|groovy|go|cs|exs?|rs|vue|svelte)$|^$|\{found\}/

/** What lets in only those who are known, in the frameworks of many languages. */
const DOORS =
  /\b(IsAuthenticated\w*|IsAdminUser|Django\w*Permissions\w*|LoginRequired\w*|PermissionRequired\w*|UserPassesTestMixin|login_required|permission_required|user_passes_test|staff_member_required|jwt_required|auth_required|requires_auth|require_(login|auth\w*|role|admin|user)|requireAuth\w*|requireUser|requireRole|requireAdmin|isAuthenticated|ensureAuthenticated|ensureLoggedIn|authenticateToken|authenticate_(user|admin)!?|authorize_resource|load_and_authorize_resource|protect_from_forgery|verify_authenticity_token|PreAuthorize|PostAuthorize|RolesAllowed|Secured|UseGuards|ValidateAntiForgeryToken|RequireAuthorization|authenticated\(\)|hasRole|hasAuthority|hasAnyRole|get_current_(active_)?user|AuthMiddleware\w*|CsrfViewMiddleware|AuthenticationMiddleware|VerifyCsrfToken|jwtMiddleware|verifyJWT|verifyToken|ensure_authenticated)\b|\[Authorize\b|\bpassport\.authenticate\(|\b(throw|raise)\s+(new\s+)?\w*(Forbidden|Unauthori[sz]ed|PermissionDenied)\w*|["'`][Rr]efus(ing|es|ed) to\b|\bmiddleware\(\s*\[?\s*['"]auth\b|['"]auth(:\w+)?['"](?=\s*[,\]])|\b(authenticate|requireAuth|requiresAuth|isProtected|protected|auth)\s*:\s*(true|['"]\w+['"])|\bplug\s+:?(require_auth\w*|ensure_auth\w*)/g

/** What lets in everybody where a rule for all of a class or a file kept them out. */
const LEFT_OPEN =
  /\bskip_before_action\s+:(authenticate|authorize|require|verify|ensure|login)|\bskip_authorization\b|\bwithoutMiddleware\(\s*\[?\s*['"]?(auth|csrf|\\?App|Verify|Authenticate)|\banyRequest\(\)\s*\.\s*permitAll|Matchers\(\s*"\/\*\*"\s*\)\s*\.\s*permitAll|\bcsrf\(\s*\)\s*\.\s*disable|\bcsrf\(\s*\w+\s*->\s*\w+\.disable|\bAbstractHttpConfigurer::disable|\bpermission_classes\s*=\s*[[(]\s*[\])]|\b(authenticate|requireAuth|requiresAuth|isProtected)\s*:\s*false/g

/** A condition with a word that is written out. What a request may do is often told by its method. */
const BY_WORD = /\bif\b(?=.*["'][^"'\n]{3,}["'])(?=.*(==|\bin\b|\w\(|\.eql))(?!.*\bmethod\b)/
/** The same in code that keeps people out, by its path: an answer that is not for a path or a kind of value. */
const IS_WORD =
  /\bif\b(?!.*\b(path\w*|url|method|route|typeof|type|kind|NODE_ENV|status\w*|code)\b)(?=.*(?<![!=])={2,3}\s*["'][^"'\n]{3,}["'])/
const LETS_PAST = /\breturn\s*;?\s*\}?$|\bnext\(\s*\)/
const KEEPS_OUT = /(^|[/_.-])(auth\w*|middlewares?|guards?|permissions?|polic(y|ies)|jwt|acl|rbac)([/_.-]|$)/i
/** A condition that is never asked. */
const NEVER = /\b(if|elif|while)\s*\(?\s*([Ff]alse\s*(and\b|&&)|[Tt]rue\s*(or\b|\|\|))/
const SAYS_YES = /\breturn\s*\(?\s*(True|true)\b/
const DECIDES =
  /\b(has_(object_)?permission|authorize\w*|authenticate\w*|canActivate|is_?(Allowed|allowed|Authori[sz]ed)|check_?(Permission|Access|auth)\w*|can_access|preHandle)\b|permission|(^|\/)auth/i

/** Whether a change takes away what keeps people out while what it kept them from stays, or lets in by a word. */
function opensDoor(path: string, { before, after, added, inserted, swaps, copied }: WrittenChange): boolean {
  const count = (text = '', shape = DOORS) => text.slice(0, MAX_TEXT).match(shape)?.length ?? 0
  if (swaps?.some(({ from, to }) => count(from) > count(to))) return true
  if (after === undefined) return inserted !== undefined && count(added) > count(inserted)
  if (before === undefined || copied) return false
  const split = (text: string) =>
    text
      .slice(0, MAX_TEXT)
      .split('\n')
      .map(line => line.trim())
      .filter(line => line !== '')
  const had = split(before)
  if (count(after, LEFT_OPEN) > count(before, LEFT_OPEN)) return true
  const known = new Set(had)
  const left = split(after)
  const letsIn = (line: string, at: number) =>
    !known.has(line) && line.length < 300 && BY_WORD.test(line) && SAYS_YES.test(`${line} ${left[at + 1] ?? ''}`)
  const letsPast = (line: string, at: number) =>
    !known.has(line) &&
    line.length < 300 &&
    IS_WORD.test(line) &&
    [line, /[{:)]$/.test(line) ? (left[at + 1] ?? '') : ''].some(one => LETS_PAST.test(one))
  if (left.some(line => !known.has(line) && NEVER.test(line)) || (KEEPS_OUT.test(path) && left.some(letsPast)))
    return true
  if (DECIDES.test(`${path}\n${before}`) && left.some(letsIn)) return true
  if (count(after) >= count(before)) return false
  return had.some((line, at) => {
    const [prev, next = ''] = [had[at - 1], had[at + 1]]
    if (count(line) === 0 || (prev !== undefined && count(prev) === 0 && !left.includes(prev))) return false
    const places = left.flatMap((one, place) => (one === next ? [place] : []))
    return (next === '' || places.length > 0) && !places.some(place => count(left[place - 1]) > 0)
  })
}
