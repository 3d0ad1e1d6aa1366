import type { Reason } from '../../domain/assessment.ts'

/** Fetching a page is MEDIUM; from inside the network, or with something attached, it is HIGH. */
export function judgeAddress(address: string): Reason {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined) return { code: 'net.address', risk: 'MEDIUM', text: `${address} is no address` }
  if (!/^https?:$/.test(url.protocol)) return { code: 'net.odd', risk: 'HIGH', text: `${url.protocol} is not the web` }
  if (url.username !== '' || url.password !== '')
    return { code: 'net.login', risk: 'HIGH', text: 'the address holds a password' }
  const host = url.hostname.replace(/\.$/, '')
  if (METADATA.test(host))
    return { code: 'net.metadata', risk: 'HIGH', text: `${url.hostname} hands out the machine's credentials` }
  if (PRIVATE.test(host) || !/[.:]/.test(host))
    return { code: 'net.inside', risk: 'MEDIUM', text: `${url.hostname} is inside the network` }
  // A page is named by its path; what is long and unreadable behind it may be data that leaves.
  if (url.search.length + url.hash.length > 400 || url.pathname.length > 800)
    return { code: 'net.long', risk: 'MEDIUM', text: 'the address carries a lot of data' }
  return { code: 'net.get', risk: 'MEDIUM', text: `it reads a page of ${url.hostname}` }
}

const METADATA =
  /^(169\.254\.\d+\.\d+|168\.63\.129\.16|100\.100\.100\.200|192\.0\.0\.192|metadata(\.google\.internal|\.azure\.com)?|instance-data(\.ec2\.internal)?|\[fd00:ec2:.*|\[::ffff:a9fe:.*|\[fe80::a9fe:.*)$/i
/** Addresses of this machine and its network, and names that lead there. `new URL` has written numbers in one way already. */
const PRIVATE =
  /^((127|10|0)\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(1[6-9]|2\d|3[01])\.\d+\.\d+|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+|\[(::1?|::ffff:.*|f[cd].*|fe[89ab].*)\]|(.*\.)?(localhost|local|internal|lan|home|corp|intranet|private|home\.arpa|nip\.io|sslip\.io|localtest\.me|lvh\.me))$/i
