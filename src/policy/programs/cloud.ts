import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { findSpelled } from '../classify/judge-file.ts'
import { findOperands } from '../shell/args.ts'
import { named, type VerbRow, verbs } from './rule-builders.ts'

const GONE = 'cannot be undone'

/** Destructive words of cloud tools, anywhere in the call. */
const DESTROY =
  /(^|[ :.-])(delete|destroy|terminate|remove|rm|rb|purge|drop|nuke|wipe|deprovision|detach|disable|revoke|deregister|cancel|undeploy|teardown|del|reset|uninstall|kill|stop|flush|rollback|undelete|force-delete|truncate|prune|expunge|release)([ :.-]|$)/i

/** Verbs that only read, as a whole word or at the beginning of one (`describe-instances`). */
const LOOKS =
  'get|list|ls|ll|describe|show|status|info|whoami|version|logs?|events|top|search|view|ps|images|inspect|history|diff|plan|validate|fmt|check|help|explain|api-resources|api-versions|cluster-info|current-context|regions|providers|output|graph|head|lookup|find|port|tail|releases|apps|domains|open|synth|preview|lint|template|render|doctor'
/** Such a verb in the verb's position: among the first words, before any word that changes something, never in the name of a thing. */
const READS = new RegExp(
  `^(?!.*(^|[ :])(deploy|create|update|set|apply|scale|restart|run|start|publish|send|put|push|invoke|add|patch|edit|import|up|rollout|promote|exec|enable|attach|modify|register|copy|move|rename|resize|reboot|drains)([ :-]|$))([\\w-]+[ :]){0,3}(${LOOKS})(-[\\w-]+)?([ :]|$)`,
  'i',
)

const SECRET =
  /(^|[ :.-])(secrets?|secretsmanager|ssm|kms|keyvault|credentials?|access-keys?|print-access-token|print-identity-token|auth print|login|get-login-password|get-secret-value|get-parameters?|tokens?|service-account keys?|auth token|kv get|read op|assume-role|get-session-token|export-credentials|configure|env (pull|ls|list|get)|env:(list|get|pull)|get values|config:get|show-secrets|get-password-data|config get|show-token)([ :.-]|$)/i

const CLOUD: VerbRow[] = [
  [
    /(^| )(upload|upload-batch|put-object|cp|mv|rsync|sync|mirror|put)( |$)/,
    'HIGH',
    'net.send',
    'sends files away, or overwrites them',
  ],
  [DESTROY, 'HIGH', 'infra.destroy', GONE],
  [SECRET, 'HIGH', 'secret.store', 'handles secrets or logins'],
  ...printsSecrets(),
  [READS, 'MEDIUM', 'infra.read', 'reads shared resources'],
]

/** Words that read, and print secrets with what they read. */
function printsSecrets(): VerbRow[] {
  return [
    [
      /(^| )(keys? (list|get|show|export|describe|print)|list-keys|connection-string|show-connection-string|config (view|vars?|get)|get values|get (all|manifest|notes|hooks)|env(ironment)? (list|show|get|export|ls)|variables? (list|get|show)|vars? (list|get|show)|get-login\S*|appsettings list|function-app config|list-function-keys|stack (output|export)|outputs?|state (pull|show|export)|admin-credentials|get-credentials|kubeconfig (save|get|show)|dump|export)( |$)/,
      'MEDIUM',
      'secret.maybe',
      'may print secrets',
    ],
  ]
}

/** Tools of a cloud that run it on this machine. */
const RUNS_HERE: VerbRow = [
  /^(offline( start)?|emulators:start|logging read|run (services|jobs|revisions) (list|describe)|hclfmt)( |$)/,
  'MEDIUM',
  'infra.read',
  'runs on this machine',
]

const CLOUD_FLAGS: VerbRow[] = [
  [
    /^--(remote|live|tunnel|share|public|expose|impersonate-service-account|billing-project)(=|$)/,
    'MEDIUM',
    'infra.elsewhere',
    'reaches beyond this machine',
  ],
  [
    /^(--force|--yes|-y|--quiet|-q|--auto-approve|-auto-approve|--delete|--purge|--grace-period=0|--now|--force-with-lease|--skip-confirmation|--no-confirm|--confirm)(=|$)/,
    'HIGH',
    'infra.force',
    'skips a confirmation or a check',
  ],
  [
    /^--?(show-secrets?|show-token|reveal|with-decryption|decrypt|include-values|show-values|show-sensitive|unmask|plaintext|export-secrets|raw|raw-output)(=|$)/,
    'HIGH',
    'secret.store',
    'shows secrets',
  ],
  [
    /^--?(out|output-dir|output-file|out-dir|outfile|chdir|kubeconfig|endpoint-url|endpoint|server|host|profile-file|post-renderer|plugin-dir|token|credentials-file|repo|set-file|plugin|app|import|export-on-exit|no-verify-ssl)(=|$)/,
    'MEDIUM',
    'infra.elsewhere',
    'writes somewhere, or goes elsewhere',
  ],
]

const changes = { risk: 'MEDIUM', code: 'infra.change', text: 'changes shared resources' } as const

const VALUED = [
  '-n',
  '--namespace',
  '--context',
  '--profile',
  '--region',
  '--project',
  '-g',
  '--resource-group',
  '--name',
  '-o',
  '--output',
  '--query',
  '-l',
  '--selector',
  '-f',
  '--filename',
  '-a',
  '--app',
  '-p',
  '-e',
  '--env',
  '--zone',
  '--account',
  '--kubeconfig',
  '--cluster',
  '--format',
  '--filter',
  '-c',
  '--container',
  '-R',
  '--repo',
  '--function-name',
  '-t',
  '--title',
  '-b',
  '--body',
  '-m',
  '--limit',
  '-L',
  '--json',
  '-q',
  '--jq',
  '--template',
  '-H',
  '-F',
  '-X',
]

const KUBECTL =
  /^(get|describe|logs|top|explain|api-resources|api-versions|cluster-info|version|config|diff|apply|create|delete|edit|patch|replace|scale|rollout|autoscale|expose|set|label|annotate|exec|run|debug|attach|cp|port-forward|proxy|auth|certificate|cordon|uncordon|drain|taint|wait|kustomize|events|completion|options|plugin|help)$/

/** kubectl: MEDIUM for reading, changing and running something in the cluster; HIGH for destroying and for secrets. */
function kubectl(call: ProgramCall): undefined {
  const operands = findOperands(call.args, VALUED)
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
  // Of what is read, the name does not matter: `get deploy api`. A dry run on this side changes nothing.
  const isRead = /^(get|describe|top|logs|explain|api-resources|version|events)( |$)/.test(line)
  const dry = call.args.filter(arg => arg.value.startsWith('--dry-run'))
  const isDry =
    /^(apply|create|delete|set|scale|patch|label|annotate|expose)( |$)/.test(line) &&
    dash < 0 &&
    dry.length === 1 &&
    /^--dry-run=(client|server)$/.test(dry[0]?.value ?? '')
  const other = call.args.find(arg => /^(-s|--as(-\w+)?|--insecure-skip-tls-verify)(=|$)|:\/\//.test(arg.value))
  if (other) call.say('infra.elsewhere', 'MEDIUM', `${other.text} is another server or another person`, other)
  verbs({
    rows: [
      ...(isRead || isDry ? [[/^/, 'MEDIUM', 'infra.read', 'looks at the cluster'] satisfies VerbRow] : []),
      [/^create secret/, 'HIGH', 'secret.store', 'handles secrets'],
      [/^(exec|run|debug|attach)/, 'MEDIUM', 'infra.remote', 'runs in the cluster'],
      [DESTROY, 'HIGH', 'infra.destroy', GONE],
      [READS, 'MEDIUM', 'infra.read', 'looks at the cluster'],
    ],
    otherwise: changes,
    paths: true,
    valued: VALUED,
    flags: CLOUD_FLAGS,
  })(call)
}

/** gh and the like: MEDIUM for reading from a forge, HIGH for publishing, deleting and tokens. */
function forge(call: ProgramCall): undefined {
  const line = findOperands(call.args, VALUED)
    .map(arg => arg.value)
    .join(' ')
  const api = /^api( |$)/.test(line)
  for (const arg of call.args)
    if (arg.substituted) call.say('net.send', 'HIGH', `${arg.text} sends what a command prints`, arg)
    else if (!arg.known) call.unknown(arg)
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
  // Without a method or fields it is a GET.
  const sends = call.args.find(arg =>
    /^(-[fF]|--(raw-)?field|--input|-H|--header|--hostname|--cache)(=|$)/.test(arg.value),
  )
  const isRead =
    api && !method && !sends && call.args.every(arg => arg.known) && !/graphql|secrets|tokens?|keys/.test(line)
  if (isRead) return call.say('infra.read', 'MEDIUM', 'it reads from the API of the forge')
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
      ...(isOwnProposal(call) ? PROPOSES : []),
    ],
    otherwise: changes,
    paths: value => !isSpelledText(call, value),
    valued: VALUED,
    flags: [
      [
        /^(--admin|--yes|--force|--confirm|--delete-branch|-d)$/,
        'HIGH',
        'infra.force',
        'skips a confirmation or a check',
      ],
    ],
  })(call)
}

const PROPOSES: VerbRow[] = [
  [/^(pr|mr) (create|new|ready|checkout)( |$)/, 'MEDIUM', 'infra.propose', 'proposes the work of this branch'],
]

/** Whether a file in /tmp is a text that the same command spells out. */
function isSpelledText(call: ProgramCall, value: string): boolean {
  return /^\/tmp\/[\w-]+\.(md|txt)$/.test(value) && findSpelled({ ...call.head, value }, call) !== undefined
}

/** Whether a proposal goes to the project's own repository, with a text that can be read here. */
function isOwnProposal(call: ProgramCall): boolean {
  const { args } = call
  // A file with the text is one that was written to be read.
  const isText = (value: string) =>
    (/^(-|[\w-][\w./-]*\.(md|txt))$/.test(value) && !value.includes('..')) || isSpelledText(call, value)
  return args.every(({ known, value }, at) => {
    if (!known || /^(-R|--repo|-H|--hostname|--recover)(=|$)/.test(value)) return false
    const [, attached] = /^(?:--body-file=|-F=?)(.+)$/s.exec(value) ?? []
    if (attached !== undefined) return isText(attached)
    return !/^(--body-file|-F)$/.test(args[at - 1]?.value ?? '') || isText(value)
  })
}

/** Clouds, clusters and hosting: HIGH for destroying, MEDIUM for reading and changing. */
export const INFRA: ProgramRules = {
  ...named(
    'aws gcloud gsutil bq az oci doctl linode-cli ibmcloud aliyun hcloud scw vultr-cli exo civo eksctl kops gcsfuse azcopy s5cmd mc sam cdk cdklocal amplify eb chalice serverless sls sst pulumi terragrunt packer vagrant nomad consul boundary waypoint heroku fly flyctl railway render vercel now netlify firebase wrangler surge dokku cf ecs-cli fastly akamai cloudflare stripe twilio shopify sfdx sf okteto tilt skaffold devspace garden telepresence argocd flux istioctl linkerd kustomize kubectx kubens k9s oc kn velero crossplane clusterctl talosctl rancher minikube kind k3d k3s microk8s datadog-ci sentry-cli newrelic launchdarkly ldcli snyk sonar-scanner circleci travis buildkite-agent',
    verbs({ rows: [RUNS_HERE, ...CLOUD], otherwise: changes, paths: true, valued: VALUED, flags: CLOUD_FLAGS }),
  ),
  aws: verbs({
    rows: [
      [/^s3 (rm|rb|mv)|^s3 sync/, 'HIGH', 'infra.destroy', GONE],
      [/^s3 cp (?!s3:)/, 'HIGH', 'net.send', 'sends files away'],
      ...CLOUD,
    ],
    otherwise: changes,
    paths: true,
    valued: VALUED,
    flags: CLOUD_FLAGS,
  }),
  kubectl,
  helm: verbs({
    rows: [
      [
        /^(uninstall|delete|rollback|del|un|plugin (install|uninstall)|push|registry)( |$)/,
        'HIGH',
        'infra.destroy',
        GONE,
      ],
      [/^(get (values|all|manifest|hooks|notes)|env)( |$)/, 'MEDIUM', 'secret.maybe', 'may print secrets'],
      [
        /^(list|ls|status|get|history|template|lint|show|search|version|dependency (list|update|build)|repo list|verify)( |$)/,
        'MEDIUM',
        'infra.read',
        'looks at releases',
      ],
    ],
    otherwise: changes,
    paths: true,
    flags: [
      [
        /^(--force|--post-renderer.*|--reset-values|--output-dir.*|--kubeconfig.*|--repo|--set-file)/,
        'HIGH',
        'infra.force',
        'forces, or runs a program',
      ],
    ],
    words: [/:\/\//, 'MEDIUM', 'infra.elsewhere', 'is fetched'],
  }),
  ...named(
    'terraform tofu',
    verbs({
      rows: [
        [
          /^(destroy|force-unlock|state (rm|mv|push|replace-provider)|taint|untaint|workspace delete|login|logout)( |$)|^apply.*destroy/,
          'HIGH',
          'infra.destroy',
          GONE,
        ],
        [/^(apply|import|refresh)( |$)/, 'HIGH', 'infra.change', 'changes infrastructure'],
        [/^(fmt|validate|version|providers|graph|get)( |$)/, 'MEDIUM', 'infra.read', 'checks the files'],
        [/^(output|show|state (show|pull)|console)( |$)/, 'MEDIUM', 'secret.maybe', 'may print secrets'],
        [/^(plan|state list|workspace (list|show)|init)( |$)/, 'MEDIUM', 'infra.read', 'looks at infrastructure'],
      ],
      otherwise: changes,
      paths: true,
      flags: [
        [
          /^(-auto-approve|--auto-approve|-chdir.*|-out(=.*([/~]|\.\.|\.(tf|tfvars|hcl|json|ya?ml)$).*|[^=].*|$)|-destroy|-force|-plugin-dir.*|-replace.*)/,
          'HIGH',
          'infra.force',
          'skips a confirmation or a check',
        ],
        [
          /^--?(backend-config|upgrade|reconfigure|migrate-state|from-module|force-copy)(=|$)/,
          'MEDIUM',
          'infra.elsewhere',
          'takes other plugins, or keeps its state elsewhere',
        ],
      ],
    }),
  ),
  kustomize: verbs({
    rows: [[/^(build|version|cfg (tree|grep|count|cat))( |$)/, 'MEDIUM', 'infra.read', 'builds manifests']],
    otherwise: changes,
    paths: true,
    flags: [
      [
        /^--(enable-(alpha-plugins|exec|helm)|network|mount|env|helm-command|load-restrictor)(=|$)/,
        'HIGH',
        'flag.runs',
        'runs programs',
      ],
      ...CLOUD_FLAGS,
    ],
  }),
  ...named('gh glab tea', forge),
  act: call => {
    const looks = call.args.some(arg => /^(-l|--list|-n|--dryrun|-g|--graph|--validate)$/.test(arg.value))
    const runs = call.args.some(arg =>
      /^(-s|--secret|--secret-file|--env-file|-b|--bind|--privileged|--container-options)/.test(arg.value),
    )
    call.say(
      looks && !runs ? 'infra.read' : 'infra.change',
      'MEDIUM',
      `${call.name} ${looks ? 'lists' : 'runs'} what CI would run`,
    )
    for (const arg of call.args) call.secret(arg)
  },
  ...named('vault op bw lpass dcli secret-tool kwallet-query keyring akeyless conjur keepassxc-cli', call =>
    call.say('secret.store', 'HIGH', `${call.name} opens a store of secrets`),
  ),
}
