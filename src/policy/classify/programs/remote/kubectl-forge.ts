import type { Call } from '../../call.ts'
import { operandsOf } from '../../words/flags.ts'
import { verbs } from '../common/build.ts'
import { CLOUD_FLAGS, changes, DESTROY, GONE, READS, VALUED } from './cloud-verbs.ts'

const KUBECTL =
  /^(get|describe|logs|top|explain|api-resources|api-versions|cluster-info|version|config|diff|apply|create|delete|edit|patch|replace|scale|rollout|autoscale|expose|set|label|annotate|exec|run|debug|attach|cp|port-forward|proxy|auth|certificate|cordon|uncordon|drain|taint|wait|kustomize|events|completion|options|plugin|help)$/

/** kubectl: MEDIUM to look, to change and to run something in the cluster; HIGH to destroy and where secrets are. */
export function kubectl(call: Call): undefined {
  const operands = operandsOf(call.args, VALUED)
  const [verb] = operands
  const dash = call.args.findIndex(arg => arg.value === '--')
  if (verb && /^(exec|run|debug|attach)$/.test(verb.value)) {
    call.say('infra.remote', 'MEDIUM', 'kubectl runs something in the cluster', verb)
    if (dash >= 0) call.run(call.args.slice(dash + 1))
  }
  const line = operands.map(arg => arg.value).join(' ')
  if (verb && !KUBECTL.test(verb.value))
    call.say('infra.change', 'MEDIUM', `${verb.text} is not a command of kubectl; it may be a plugin`, verb)
  if (call.args.some(arg => arg.value === '--raw')) call.say('secret.store', 'HIGH', 'kubectl shows keys', verb)
  if (/^(get|describe) \S*\bsecrets?\b/.test(line))
    return call.say('secret.store', 'HIGH', 'kubectl shows secrets', verb)
  if (
    /^(drain|cordon|taint|cp|port-forward|proxy|replace|certificate|auth reconcile|config (set|use|delete|unset).*)( |$)/.test(
      line,
    )
  )
    call.say(
      'infra.change',
      /^(drain|cp|proxy|replace)/.test(line) ? 'HIGH' : 'MEDIUM',
      'kubectl changes the cluster',
      verb,
    )
  verbs({
    rows: [
      [/^create secret/, 'HIGH', 'secret.store', 'handles secrets'],
      [/^(exec|run|debug|attach)/, 'MEDIUM', 'infra.remote', 'runs in the cluster'],
      [DESTROY, 'HIGH', 'infra.destroy', GONE],
      [READS, 'MEDIUM', 'infra.read', 'looks at the cluster'],
    ],
    otherwise: changes,
    places: true,
    valued: VALUED,
    flags: CLOUD_FLAGS,
  })(call)
}

/** gh and its like: MEDIUM to look at a forge, HIGH to publish, to delete, or where tokens are. */
export function forge(call: Call): undefined {
  const line = operandsOf(call.args, VALUED)
    .map(arg => arg.value)
    .join(' ')
  const api = /^api( |$)/.test(line)
  const shown = call.args.find(arg => /^(--show-token|-t)$/.test(arg.value))
  if (shown && /^auth status/.test(line)) call.say('secret.store', 'HIGH', `${shown.text} shows the token`, shown)
  if (/^config get .*token/.test(line)) call.say('secret.store', 'HIGH', 'it shows the token')
  for (const [at, arg] of call.args.entries())
    if (/^(--jq|-q|--template|-t)$/.test(call.args[at - 1]?.value ?? '') && /\benv\b|\$ENV/.test(arg.value))
      call.say('env.print', 'HIGH', `${arg.text} shows the environment`, arg)
  const method = call.args.find(
    (arg, at) =>
      /^(-X|--method)$/.test(call.args[at - 1]?.value ?? '') ||
      /^(-X|--method=)(POST|PUT|PATCH|DELETE)/i.test(arg.value),
  )
  if (api)
    return call.say(
      'infra.change',
      method && /DELETE/i.test(method.value) ? 'HIGH' : 'MEDIUM',
      'it calls the API of the forge',
      method,
    )
  verbs({
    rows: [
      [
        /^(secret|variable|ssh-key|gpg-key|auth (token|login|refresh|setup-git|logout)|config set|alias set|extension (install|exec|upgrade|create)|codespace (delete|ssh|cp)|attestation|deploy-key|repo (delete|archive|rename|edit|deploy-key)|release (delete|create|upload|edit)|gist create|pr merge|cache delete|run (delete|cancel)|issue (delete|transfer)|label delete|project delete)( |$)/,
        'HIGH',
        'infra.destroy',
        'publishes, deletes, or handles secrets',
      ],
      [
        /^(pr|issue|run|workflow|release|repo|search|gist|cache|label|project|ruleset|org|codespace|milestone|mr|ci|pipeline|snippet) (list|view|status|diff|checks|watch|ls|show|trace|get|lint)( |$)|^(status|browse|auth status|search|pr checks)( |$)/,
        'MEDIUM',
        'infra.read',
        'looks at the forge',
      ],
      [DESTROY, 'HIGH', 'infra.destroy', GONE],
    ],
    otherwise: changes,
    places: true,
    valued: VALUED,
    flags: [
      [/^(--admin|--yes|--force|--confirm|--delete-branch|-d)$/, 'HIGH', 'infra.force', 'skips what would stop it'],
    ],
  })(call)
}
