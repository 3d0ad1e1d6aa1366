import type { Call } from '../../call.ts'
import type { Arg } from '../../words/arg.ts'

/** Settings that name a program, or a place where one lies. */
export const RUNS_PROGRAM =
  /^(alias\.|core\.(pager|editor|sshcommand|fsmonitor|hookspath|gitproxy|askpass|attributesfile|worktree)|credential\.|diff\.|difftool\.|merge\.|mergetool\.|filter\.|gpg\.|pager\.|sequence\.editor|uploadpack\.|receive\.|include|url\.|protocol\.|http\.(proxy|sslverify|cookiefile|extraheader)|browser\.|man\.|web\.|interactive\.difffilter|sendemail\.|trailer\.|remote\.[^.]*\.(uploadpack|receivepack|vcs|proxy)|submodule\.[^.]*\.(update|url)|core\.gitproxy|init\.templatedir|safe\.directory|extensions\.|ssh\.|instaweb\.|guitool\.|log\.showsignature|user\.signingkey|tar\.|fetch\.|push\.|branch\.)/i

/** Whether a `-c` only says how git prints, or who commits. */
export function isHarmlessSetting(setting: string): boolean {
  const key = setting.split('=')[0] ?? ''
  return (
    /^(core\.pager|pager\.\w+)=(cat|)$/i.test(setting) ||
    /^(color|advice|core\.(quotepath|autocrlf|safecrlf|abbrev|precomposeunicode|longpaths)|log\.(date|decorate)|diff\.(renames|algorithm|context|noprefix|mnemonicprefix)|merge\.conflictstyle|user\.(name|email)|commit\.gpgsign|tag\.gpgsign|init\.defaultbranch|pull\.rebase|rebase\.autostash|gc\.auto)/i.test(
      key,
    )
  )
}

function judgeSetting(call: Call, at: Arg, setting: string): undefined {
  const key = setting.split('=')[0] ?? ''
  if (isHarmlessSetting(setting)) return
  if (RUNS_PROGRAM.test(key) || !at.known)
    call.say('git.setting', 'HIGH', `${key} decides which programs git runs or where it goes`, at)
  else call.say('git.setting-other', 'MEDIUM', `${key} is set for this command`, at)
}

/** Flags of git itself that take the next word. */
export const GLOBAL_VALUED = [
  '-C',
  '-c',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--exec-path',
  '--super-prefix',
  '--config-env',
  '--attr-source',
]

export function judgeGlobals(call: Call, head: readonly Arg[]): undefined {
  for (const [place, arg] of head.entries()) {
    const before = head[place - 1]?.value
    if (arg.value.startsWith('-c') || before === '-c' || /^--config-env/.test(arg.value)) {
      const setting = before === '-c' ? arg.value : arg.value.replace(/^(-c|--config-env=?)/, '')
      if (setting !== '') judgeSetting(call, arg, setting)
    }
    if (before === '-C') judgeElsewhere(call, arg)
    if (/^--(git-dir|work-tree|exec-path|super-prefix|namespace)(=|$)/.test(arg.value)) {
      const runs = arg.value.startsWith('--exec-path=')
      const path = arg.value.includes('=')
        ? { ...arg, value: arg.value.slice(arg.value.indexOf('=') + 1) }
        : head[place + 1]
      if (path && /^--(work-tree)/.test(arg.value)) call.path(path, 'write')
      call.say('git.elsewhere', runs ? 'HIGH' : 'MEDIUM', `${arg.text} makes git work elsewhere`, arg)
    }
  }
}

/** `-C sub` inside the project is everyday; outside it, another repository's settings count. */
function judgeElsewhere(call: Call, arg: Arg): undefined {
  const inside =
    arg.known &&
    !arg.value.startsWith('~') &&
    !arg.value.split('/').includes('..') &&
    (!arg.value.startsWith('/') || `${arg.value}/`.startsWith(`${call.fence.boundary}/`))
  if (!inside) call.say('git.elsewhere', 'MEDIUM', `${arg.text} is another place, whose settings can run programs`, arg)
}
