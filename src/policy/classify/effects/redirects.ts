import type { Reason } from '../../../domain/assessment.ts'
import type { Fence } from '../../paths/place.ts'
import type { Redirect } from '../../shell/tree.ts'
import type { Arg } from '../words/arg.ts'
import type { Scope } from '../words/scope.ts'
import { isStandardDevice, judgeFile } from './judge-file.ts'

interface Where {
  scope: Scope
  fence: Fence
  add: (reason: Reason) => undefined
}

/** What a redirect does: writing a file is HIGH in every spelling, reading one is like any other read. */
export function judgeRedirect({ redirect, targets }: { redirect: Redirect; targets: Arg[] }, where: Where): undefined {
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
