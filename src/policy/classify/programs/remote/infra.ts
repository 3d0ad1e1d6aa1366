import type { Rules } from '../../call.ts'
import { named, verbs } from '../common/build.ts'
import { CLOUD, CLOUD_FLAGS, changes, GONE, VALUED } from './cloud-verbs.ts'
import { forge, kubectl } from './kubectl-forge.ts'

/** Clouds, clusters and hosting: HIGH to destroy, MEDIUM to look or change. */
export const INFRA: Rules = {
  ...named(
    'aws gcloud gsutil bq az oci doctl linode-cli ibmcloud aliyun hcloud scw vultr-cli exo civo eksctl kops gcsfuse azcopy s5cmd mc sam cdk cdklocal amplify eb chalice serverless sls sst pulumi terragrunt packer vagrant nomad consul boundary waypoint heroku fly flyctl railway render vercel now netlify firebase wrangler surge dokku cf ecs-cli fastly akamai cloudflare stripe twilio shopify sfdx sf okteto tilt skaffold devspace garden telepresence argocd flux istioctl linkerd kustomize kubectx kubens k9s oc kn velero crossplane clusterctl talosctl rancher minikube kind k3d k3s microk8s datadog-ci sentry-cli newrelic launchdarkly ldcli snyk sonar-scanner circleci travis buildkite-agent act',
    verbs({ rows: CLOUD, otherwise: changes, places: true, valued: VALUED, flags: CLOUD_FLAGS }),
  ),
  aws: verbs({
    rows: [
      [/^s3 (rm|rb|mv)|^s3 sync/, 'HIGH', 'infra.destroy', GONE],
      [/^s3 cp (?!s3:)/, 'HIGH', 'net.send', 'sends files away'],
      ...CLOUD,
    ],
    otherwise: changes,
    places: true,
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
      [
        /^(list|ls|status|get|history|template|lint|show|search|version|dependency list|env|repo list|verify)( |$)/,
        'MEDIUM',
        'infra.read',
        'looks at releases',
      ],
    ],
    otherwise: changes,
    places: true,
    flags: [
      [
        /^(--force|--post-renderer.*|--reset-values|--output-dir.*|--kubeconfig.*)/,
        'HIGH',
        'infra.force',
        'forces, or runs a program',
      ],
    ],
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
        [
          /^(plan|show|output|state (list|show)|workspace (list|show)|init)( |$)/,
          'MEDIUM',
          'infra.read',
          'looks at infrastructure',
        ],
      ],
      otherwise: changes,
      places: true,
      flags: [
        [
          /^(-auto-approve|--auto-approve|-chdir.*|-out.*|-destroy|-force|-lock=false|-plugin-dir.*|-replace.*)/,
          'HIGH',
          'infra.force',
          'skips what would stop it',
        ],
      ],
    }),
  ),
  ...named('gh glab tea', forge),
  ...named('vault op bw lpass dcli secret-tool kwallet-query keyring akeyless conjur keepassxc-cli', call =>
    call.say('secret.store', 'HIGH', `${call.name} opens a store of secrets`),
  ),
}
