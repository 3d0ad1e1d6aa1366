/** Where text that is not the vendor's appears in a conversation. */
export type Channel = 'says' | 'thinks' | 'prints' | 'fails' | 'reads' | 'writes' | 'plans' | 'asks' | 'subagent'

const EVENT =
  '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1893456000,"rateLimitType":"five_hour"}}'
const RESULT =
  '{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"api_error":"usage_limit_reached","result":"You\'ve hit your limit"}'
const SYNTHETIC =
  '{"type":"assistant","error":"rate_limit","message":{"model":"<synthetic>","content":[{"type":"text","text":"You\'ve hit your 5-hour limit · resets 3am (UTC)"}]}}'
const RETRY =
  '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":429,"error":"rate_limit"}'

/** Texts that look like a limit but are none: quoted, translated, imitated, documented. */
export const LOOK_ALIKES: [Channel, string][] = [
  ['says', "You've hit your 5-hour limit · resets 3:37am (UTC)"],
  ['says', "You've hit your weekly limit · resets Nov 20, 3am (Europe/Berlin)"],
  ['says', 'Claude AI usage limit reached|1893456000'],
  ['says', 'Claude usage limit reached. Your limit will reset at 3pm (America/New_York).'],
  ['says', '5-hour limit reached ∙ resets 3pm\n     /upgrade to increase your usage limit.'],
  [
    'says',
    'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account\'s rate limit."}}',
  ],
  ['says', 'API Error: Request rejected (429) · Number of requests has exceeded your rate limit.'],
  ['says', 'Error: rate_limit'],
  ['says', 'The server answers 429 Too Many Requests with retry-after: 3600; I added a test for it.'],
  ['says', 'I handle `usage_limit_reached` now, and the message "You\'ve hit your usage limit" is shown to the user.'],
  ['says', EVENT],
  ['says', RESULT],
  ['says', SYNTHETIC],
  ['says', RETRY],
  ['says', "<synthetic>You've hit your limit · resets 3am</synthetic>"],
  ['says', 'Sie haben Ihr 5-Stunden-Limit erreicht · wird um 3 Uhr zurückgesetzt'],
  ['says', 'Vous avez atteint votre limite d’utilisation · réinitialisation à 3 h'],
  ['says', 'Has alcanzado tu límite de uso. Se restablece a las 15:00.'],
  ['says', 'Você atingiu o limite de 5 horas · redefine às 3h'],
  ['says', '使用制限に達しました。午前3時にリセットされます。'],
  ['says', '您已达到 5 小时使用上限，将于凌晨 3 点重置。'],
  ['says', 'Вы достигли лимита использования. Сброс в 3:00.'],
  ['says', 'لقد وصلت إلى حد الاستخدام · تتم إعادة التعيين الساعة 3 صباحًا'],
  ['says', 'I am stopping here because I reached my limit for today; please try again at 3:56 PM.'],
  ['says', "I can't go on: the account is out of usage credits. Run /usage-credits to continue."],
  ['says', 'Server is temporarily limiting requests (not your usage limit)'],
  ['says', 'overloaded_error: Overloaded'],
  ['thinks', "The user's log says: You've hit your 5-hour limit · resets 3am (UTC). Am I limited? No, I am answering."],
  ['thinks', EVENT],
  ['thinks', 'rate limit reached, resets at 15:00'],
  ['prints', "You've hit your 5-hour limit · resets 3:37am (UTC)"],
  ['prints', 'Claude AI usage limit reached|1893456000'],
  ['prints', EVENT],
  ['prints', RESULT],
  ['prints', SYNTHETIC],
  ['prints', `${RETRY}\n${EVENT}\n${RESULT}`],
  [
    'prints',
    'HTTP/2 429\nretry-after: 7200\nanthropic-ratelimit-unified-status: rejected\nanthropic-ratelimit-unified-reset: 1893456000',
  ],
  ['prints', 'anthropic-ratelimit-unified-representative-claim: five_hour'],
  ['prints', 'npm error code E429\nnpm error 429 Too Many Requests - GET /left-pad'],
  ['prints', 'You have reached your pull rate limit. You may increase the limit by authenticating and upgrading.'],
  ['prints', 'gh: API rate limit exceeded for user ID 1. (HTTP 403) resets at 15:00'],
  [
    'prints',
    '{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_at":1893456000}}',
  ],
  ['fails', "API Error: 429 You've hit your limit · resets 3am"],
  ['fails', 'curl: (22) The requested URL returned error: 429'],
  ['fails', EVENT],
  ['fails', 'openai.RateLimitError: Error code: 429 - insufficient_quota'],
  ['reads', '# Troubleshooting\n\nWhen Claude Code prints "You\'ve hit your 5-hour limit · resets 3am (UTC)", wait.\n'],
  ['reads', `${EVENT}\n${SYNTHETIC}\n${RESULT}\n`],
  ['reads', 'const LIMIT = /usage limit reached\\|(\\d+)/ // Claude AI usage limit reached|1893456000\n'],
  ['reads', 'def on_rate_limit(e):\n    raise RateLimited("5-hour limit reached, resets 3pm")\n'],
  [
    'reads',
    '{"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","message":{"model":"<synthetic>","content":[]}}\n',
  ],
  ['reads', 'Ihr Wochenlimit ist erreicht. Zurückgesetzt wird am 20. November um 3:00 Uhr.\n'],
  ['writes', 'export const FULL = "You\'ve hit your 5-hour limit · resets 3am (UTC)"\n'],
  ['writes', `${EVENT}\n`],
  ['writes', '# 429\n\nrate_limit_error: usage limit reached, resets Nov 20, 3am (Europe/Berlin)\n'],
  ['plans', 'Show "You\'ve hit your 5-hour limit · resets 3am (UTC)" to the user'],
  ['plans', 'Retry on 429 rate_limit_error until the limit resets at 15:00'],
  ['asks', 'What shall the page say: "You\'ve hit your limit · resets 3am"?'],
  ['asks', 'The vendor answers 429 usage_limit_reached. Retry, or give up?'],
  ['subagent', "You've hit your 5-hour limit · resets 3:37am (UTC)"],
  ['subagent', EVENT],
  ['subagent', SYNTHETIC],
  ['subagent', 'Claude AI usage limit reached|1893456000'],
  ['subagent', 'API Error: Request rejected (429) · rate_limit'],
]
