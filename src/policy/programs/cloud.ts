import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { findFlags, findOperands } from '../shell/args.ts'
import { named, type VerbRow, verbs } from './rule-builders.ts'

export const GONE = 'cannot be undone'

/** Destructive words of cloud tools, anywhere in the call. */
export const DESTROY =
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
    // By the words of the verb: `list-api-keys`, `get-master-user-password`, `services api-keys get-key-string`.
    [
      /^(?!auth list|([\w-]+ )?(describe-key-pairs|list-aliases|describe-keys?|list-keys)( |$))(\S+ ){0,3}(\S*[-_:])?(keys?|passwords?|passwd|secrets?|tokens?|credentials?|auth|env)([-_:]\S*)?( |$)/i,
      'MEDIUM',
      'secret.maybe',
      'may print secrets',
    ],
    // What runs elsewhere is described with its variables and its logins.
    [
      /(^| )(describe-task-definition|get-function(-configuration)?|list-functions|get-connections?|describe-(instance-attribute|launch-template-versions|configuration-settings|job-definitions|notebook-instance-lifecycle-config|user-data)|batch-get-projects|get-(app|branch|job|environment|bot|integration|domain-name|webhook)|list-(apps|webhooks)|cluster-info dump|alias (list|ls)|(functions|run services|run jobs|run revisions|app versions) describe|webapp (show|config)|functionapp (show|config)|containerapp show|app (show|spec)|status -o env)( |$)/,
      'MEDIUM',
      'secret.maybe',
      'may print secrets',
    ],
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

/**
 * What a tool of a cloud does on this machine: its verbs, with flags that only say where it listens and how much it says. What others build or
 * serve reaches a cluster or a registry: `skaffold build` pushes, `sst dev` deploys.
 */
const WORKS_HERE: Record<string, string> = {
  amplify: 'mock',
  chalice: 'local',
  firebase: 'serve',
  netlify: 'dev|build|serve',
  sam: 'build|validate|local (invoke|start-api|start-lambda)( \\w+)?',
  serverless: 'package',
  sls: 'package',
  vercel: 'dev|build',
  wrangler: 'dev|types|pages dev',
}
const HERE_FLAGS =
  '(--(local|watch|silent|debug|quiet|offline|lint|cached|parallel|live-reload|no-interactive)|(--port|-p|--listen)[ =]?\\d+|(-e|--event)[ =](events?/)?[\\w-]+\\.json)'

export function worksHere(name: string, words: readonly string[]): boolean {
  const verbs = Object.hasOwn(WORKS_HERE, name) ? WORKS_HERE[name] : undefined
  return verbs !== undefined && new RegExp(`^(${verbs})( ${HERE_FLAGS})*$`).test(words.join(' '))
}

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

export const changes = { risk: 'MEDIUM', code: 'infra.change', text: 'changes shared resources' } as const

export const VALUED = [
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

const CLOUD_TOOL = verbs({
  rows: [RUNS_HERE, ...CLOUD],
  otherwise: changes,
  paths: true,
  valued: VALUED,
  flags: CLOUD_FLAGS,
})

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
  const isRead =
    /^(get|describe|top|logs|explain|api-resources|version|events)( |$)/.test(line) ||
    (/^kustomize \w[\w.-]*\/[\w./-]*$/.test(line) && call.args.length === 2)
  const dry = call.args.filter(arg => arg.value.startsWith('--dry-run'))
  const isDry =
    /^(apply|create|delete|set|scale|patch|label|annotate|expose)( |$)/.test(line) &&
    dash < 0 &&
    dry.length === 1 &&
    /^--dry-run=(client|server)$/.test(dry[0]?.value ?? '')
  if (/^cluster-info dump/.test(line) || (isRead && isWhole(call, line)))
    call.say('secret.maybe', 'MEDIUM', 'kubectl may print what is set up, passwords too', verb)
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

/** Whether everything, or settings, are printed as a whole: `get all -o json`, `get configmaps -o yaml`. */
function isWhole({ args }: ProgramCall, line: string): boolean {
  const [, what = ''] = line.split(' ')
  const isSettings = /(^|,)(all|cm|configmaps?)(,|\/|$)/.test(what)
  if (/^describe /.test(line)) return isSettings
  const shown = findFlags(args, ['-o', '--output'], 'onlfpcL').some(({ value }) =>
    /^(json|yaml|jsonpath|go-template|custom)/.test(value?.value ?? ''),
  )
  return shown && (isSettings || args.some(({ value }) => /^(-A|--all-namespaces)$/.test(value)))
}

/** Those of the programs below that send nothing away by themselves. */
export const ON_THIS_MACHINE: ProgramRules = {
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

/** Clouds, clusters and hosting: HIGH for destroying, MEDIUM for reading and changing. */
export const INFRA: ProgramRules = {
  ...named(
    'aws gcloud gsutil bq az oci doctl linode-cli ibmcloud aliyun hcloud scw vultr-cli exo civo eksctl kops gcsfuse azcopy s5cmd mc sam cdk cdklocal amplify eb chalice serverless sls sst terragrunt packer vagrant nomad consul boundary waypoint heroku fly flyctl railway render vercel now netlify firebase wrangler surge dokku cf ecs-cli fastly akamai cloudflare stripe twilio shopify sfdx sf okteto tilt skaffold devspace garden telepresence argocd flux istioctl linkerd kustomize kubectx kubens k9s oc kn velero crossplane clusterctl talosctl rancher minikube kind k3d k3s microk8s datadog-ci sentry-cli newrelic launchdarkly ldcli snyk sonar-scanner circleci travis buildkite-agent',
    call => {
      const isKnown = call.args.every(({ known, glob }) => known && !glob)
      const words = call.args.map(({ value }) => value)
      if (!isKnown || !worksHere(call.name, words)) return CLOUD_TOOL(call)
      return call.say('infra.read', 'MEDIUM', `${call.name} runs on this machine`)
    },
  ),
  // They publish a site, an application or a package, or send code and reports to a service. Typed or in a script, that is asked about.
  ...named(
    'angular-cli-ghpages appcenter arc bencher cc-test-reporter chromatic codacy-coverage-reporter code-push codecov codecov-cli codspeed convex coveralls currents deepsource depot eas fern fossa ftp-deploy gh-pages ghp-import ko liblab modal percy rdme saucectl shipit speakeasy spr werf',
    call => call.say('infra.change', 'MEDIUM', `${call.name} publishes, or sends what it is given to a service`),
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
  // Its `destroy` is also called `down` and `dn`.
  pulumi: verbs({
    rows: [
      [/^(down|dn)( |$)/, 'HIGH', 'infra.destroy', GONE],
      [/^(refresh|import)( |$)/, 'HIGH', 'infra.change', 'changes the state of the stack'],
      RUNS_HERE,
      ...CLOUD,
    ],
    otherwise: changes,
    paths: true,
    valued: [...VALUED, '-s', '--stack', '-C', '--cwd'],
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
          /^(-auto-approve|--auto-approve|-chdir(?!=(\.\/)?[\w-]+(\/[\w-]+)*$).*|-out(=.*([/~]|\.\.|\.(tf|tfvars|hcl|json|ya?ml)$).*|[^=].*|$)|-destroy|-force|-plugin-dir.*|-replace.*)/,
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
  ...ON_THIS_MACHINE,
}
