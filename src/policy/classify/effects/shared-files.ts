import { judgePath } from '../../paths/judge-path.ts'
import type { Call } from '../call.ts'
import { type Arg, HOLE, isFlag } from '../words/arg.ts'

/** Programs that change or remove the files they are given, beside those whose rules look at each one. */
const CHANGES =
  /^(rm|rmdir|unlink|shred|truncate|chmod|chown|chgrp|ln|install|rsync|dd|touch|mkdir|mv|cp|tee|sed|perl|ed|ex|patch|trash|rename|tar|unzip|sponge|xattr|chattr|setfacl)$/

/** In a worktree: words of such a program that are places which it shares with others. Adds nothing else. */
export function judgeSharedFiles(call: Call): undefined {
  if (call.fence.worktree === undefined || !CHANGES.test(call.name)) return
  for (const arg of call.args) {
    const equals = arg.value.indexOf('=')
    if (!isFlag(arg)) judgeWord(call, arg, arg.value)
    if (equals > 0) judgeWord(call, arg, arg.value.slice(equals + 1))
  }
}

function judgeWord(call: Call, arg: Arg, value: string): undefined {
  if (value === '' || value.includes(HOLE)) return
  const cwd = call.scope.cwd ?? call.fence.boundary
  // Of a pattern the part before the first wildcard is a path.
  const path = arg.glob ? value.replace(/[^/]*[*?[].*$/s, '') : value
  if (path === '') return
  const { code, risk, text } = judgePath(path, 'write', { cwd, fence: call.fence })
  if (code === 'boundary.file') call.say(code, risk, text, arg)
}
