import type { Reason } from '../../domain/assessment.ts'

/** Fetching a page is MEDIUM; from inside the network, or with something attached, it is HIGH. */
export function judgeAddress(address: string): Reason {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined) return { code: 'net.address', risk: 'MEDIUM', text: `${address} is no address` }
  if (!/^https?:$/.test(url.protocol)) return { code: 'net.odd', risk: 'HIGH', text: `${url.protocol} is not the web` }
  if (url.username !== '' || url.password !== '')
    return { code: 'net.login', risk: 'HIGH', text: 'the address holds a password' }
  if (METADATA.test(url.hostname))
    return { code: 'net.metadata', risk: 'HIGH', text: `${url.hostname} hands out the machine's credentials` }
  if (PRIVATE.test(url.hostname))
    return { code: 'net.inside', risk: 'MEDIUM', text: `${url.hostname} is inside the network` }
  // A page is named by its path; what is long and unreadable behind it may be data that leaves.
  if (url.search.length + url.hash.length > 400)
    return { code: 'net.long', risk: 'MEDIUM', text: 'the address carries a lot of data' }
  return { code: 'net.get', risk: 'MEDIUM', text: `it reads a page of ${url.hostname}` }
}

const METADATA = /^(169\.254\.|metadata\.|\[?fd00:ec2|100\.100\.100\.200)/i
const PRIVATE =
  /^(localhost|127\.|0\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[?(::1|f[cd]|fe80)|.*\.(local|internal|lan|home|corp)$)/i
