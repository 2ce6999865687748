"""The expressions that functions under test are made of: `@I`, `@F`, `@B` and `@S` stand for others of a kind."""

from __future__ import annotations

_LEAVES = {
    "int": r"""
        t.n ; t.m ; t.i ; t.j ; t.u ; t.k ; t.ts ; t.on ; 1 ; -3 ; 2 ; 0 ; LIMIT ; 9223372036854775807
    """,
    "float": r"""
        t.x ; t.z ; t.y ; t.ox ; 0.5 ; -0.0 ; FACTOR ; 1e300 ; math.pi ; math.inf ; -math.inf ; math.nan
    """,
    "bool": r"""
        t.b ; t.ob ; True ; t.n > 0 ; t.x < t.z ; t.s == t.w ; t.on is None ; t.os is not None
    """,
    "str": r"""
        t.s ; t.w ; t.os ; t.q ; 'a' ; 'é' ; ''
    """,
}

_TREES = {
    "int": r"""
        (@I + @I) ; (@I - @I) ; (@I * @I) ; (@I // @I) ; (@I % @I) ; (-@I) ; abs(@I) ; (@I ** 2) ; (t.i ** 3) ;
        (@I & @I) ; (@I | t.n) ; (@I ^ @I) ; (~@I) ; (t.n >> 3) ; min(@I, t.n) ; max(t.m, @I) ; len(t.s + @S) ;
        int(@F) ; round(@F + t.x) ; (@I if @B else @I) ; math.floor(t.x * @F) ; math.ceil(t.z) ; math.trunc(t.z) ;
        SIZES.get(@I, 5) ; SIZES[t.n] ; int(t.s + '') ; t.s.find(@S) ; t.w.count('a') ; (t.b + @I) ; (t.on or @I) ;
        (@I or t.n) ; (@I and t.m) ; clamp(t.n) ; clamp(t.i, high=@I) ; STEPS[t.j] ; round(t.n, -1) ; t.s.index('a') ;
        (t.n + True) ; int(t.b) ; ord(t.s) ; (7 % t.n) ; (t.i * t.k) ; (t.k // 3) ; (t.j % 7) ; Point(t.n, y=t.i).y ;
        Spot(t.m).x ; (1 // t.n if t.n else @I) ; (t.n >> 70) ; (-7 // t.j) ; (@I % -3) ; (~t.b) ; (t.b & t.n) ;
        (-t.b) ; abs(t.b) ; int(t.s, 16) ; t.w.rfind(@S) ; t.s.rindex('a') ; t.s.find('b', t.j) ; (t.u - @I) ; (-t.u) ;
        round(t.n, -2) ; round(t.n, 2) ; (t.j ** 4) ; (t.n, @I)[1] ; {'x': @I}['x'] ; (y := @I) * 2 ; min(t.n, @I, 3) ;
        math.floor(t.n) ; len(t.s.split('a')) ; (t.n if 1 < t.n < t.m else @I) ; (t.on + 1 if t.on is not None else 0) ;
        int(t.w.strip() or '7') ; len(f"{t.z}") ; (t.x > 1) + (t.on == t.n) ; clamp(v=t.m, low=@I)
    """,
    "float": r"""
        (@F + @F) ; (@F - @F) ; (@F * @F) ; (@F / @F) ; (@I / @I) ; (@F // @F) ; (@F % @F) ; (-@F) ; abs(@F) ;
        (@F * @I) ; (@I - @F) ; min(@F, t.x) ; max(t.z, @F) ; math.sqrt(t.x) ; round(@F + t.x, 2) ; (@F if @B else @F) ;
        RATES.get(@S, @F) ; RATES[t.s] ; float(t.s) ; math.log(t.x) ; (t.x ** 2) ; float(t.n) ; (t.x ** 0.5) ;
        (t.ox or @F) ; half(t.n) ; half(@F) ; math.fabs(t.z) ; math.exp(t.x) ; (t.i / 7) ; (t.x / 3) ; (t.x // 3.0) ;
        (t.n / t.j) ; math.atan2(t.x, t.z) ; math.sqrt(t.i) ; round(t.y, 1) ; round(@F, -2) ; round(t.x, 1) ;
        (t.b / 2) ; (t.n % t.x) ; (@I // @F) ; (-7.5 % t.x) ; math.fmod(t.x, @F) ; math.hypot(t.x, t.z) ;
        math.log2(t.x) ; math.log10(t.n) ; math.log(t.x, 2) ; math.pow(t.x, t.j) ; math.copysign(t.x, @F) ;
        math.sin(@F) ; math.degrees(t.x) ; math.expm1(t.x) ; (2 ** t.x) ; (t.x ** t.j) ; ((-t.x) ** 0.5) ; float(t.u) ;
        max(-0.0, @F, 0.0) ; min(t.x, math.nan) ; (t.x if t.x > 0 else 1 / t.x) ; float(t.b) ; (t.n ** 0.5) ; abs(t.y) ;
        (y := @F) + y ; float(t.s.strip() + '_0')
    """,
    "bool": r"""
        (@I < @I) ; (@I == @F) ; (@F >= @I) ; (@F != @F) ; (@S == @S) ; (@S < t.w) ; (@B and @B) ; (@B or @B) ;
        (not @I) ; (not @S) ; (@B if @B else @B) ; (t.n in STEPS) ; (t.s in WATCHED) ; ('a' in t.w) ; (@S in t.s) ;
        t.s.startswith('a') ; t.w.endswith('z') ; (0 < @I <= 10) ; (1.0 < @F < @I) ; math.isnan(@F + t.x) ;
        t.s.isdigit() ; bool(@F) ; (t.on is None) ; (t.ox is not None and t.ox > 1) ; (PATTERN.match(t.s) is None) ;
        (re.search('[a-c]', t.w) is not None) ; (t.s not in ('a', 'ß')) ; bool(t.os) ; (@B & t.b) ;
        (t.x in (1.0, 2.5)) ; (t.n in SIZES) ; (t.b != @B) ; (t.on == 1) ; (t.k in (1, 255, 300)) ; math.isfinite(t.z) ;
        (t.j in ()) ; (@B and t.n // t.m > 1) ; (t.n == 0 or t.m / t.n > 1) ; t.s.startswith('') ; ('' in t.w) ;
        (t.s.strip() == '') ; (t.n < t.x < t.m) ; (t.u == t.n) ; (t.n > t.u) ; (t.u > @F) ; (t.b < @I) ; (t.b == 1) ;
        (t.on != t.n) ; (None == t.n) ; (t.on < @I) ; (t.x == t.x) ; (t.x in (0, 1)) ; (t.n in (1.0, 2)) ;
        (t.b in (True, 0)) ; ('ß' in @S) ; (@S in 'abc') ; (@B ^ t.b) ; t.s.isalpha() ; t.s.isalnum() ; t.w.isspace() ;
        t.w.isupper() ; @S.islower() ; t.s.isnumeric() ; t.s.isdecimal() ; t.s.istitle() ; t.w.isascii() ;
        t.s.endswith('c', 1) ; t.s.startswith('b', t.j) ; (not 0 <= t.x < @F) ; bool(re.fullmatch('[a-z]+', t.s)) ;
        ((y := t.n) > 1 and y < @I)
    """,
    "str": r"""
        (@S + @S) ; t.s.upper() ; t.w.lower() ; t.s.strip() ; t.s.replace('a', @S) ; f"{t.w}-{t.n * 2}" ;
        f"{t.i}{t.s}" ; f"{t.n}{t.x}" ; f"{t.x:.2f}|{t.s!r}" ; str(@I) ; str(@F) ; str(t.b) ; t.s[1:] ; t.s[:2] ;
        t.w[::-1] ; t.s[0] ; (@S if @B else @S) ; NAMES.get(t.s, @S) ; NAMES[t.s] ; t.s.split(',')[0] ; t.s.title() ;
        t.s.zfill(5) ; re.sub('[0-9]+', '#', t.s) ; PATTERN.match(t.s).group(1) ; t.s.split('-')[1] ; (t.os or @S) ;
        (@S or t.w) ; max(t.s, @S) ; t.w[t.j] ; t.w[:t.i] ; str(t.on) ; f"{t.os}" ; repr(t.x) ; chr(t.n) ;
        t.s.removeprefix('a') ; PATTERN.match(t.s)[2] ; f"{t.i:>5}" ; (t.s + 'x').strip('x') ; @S.casefold() ;
        (t.s if t.b else t.w).upper() ; t.s.split()[-1] ; f"{t.x:g}" ; f"{t.z:e}" ; f"{t.x:,.2f}" ; f"{t.x:+010.3f}" ;
        f"{t.x:%}" ; f"{t.m:,}" ; f"{t.n:_}" ; f"{t.n:x}" ; f"{t.n:#b}" ; f"{t.n:08.3f}" ; f"{t.k:c}" ; f"{t.b:d}" ;
        f"{t.b!s:>7}" ; f"{t.s:*<5.2}" ; f"{t.w!a}" ; f"{t.on!r}" ; f"{t.x=}" ; f"{t.y}" ; str(t.u) ; repr(t.s) ;
        t.s.swapcase() ; t.w.capitalize() ; t.s.center(7, '*') ; t.s.ljust(4) ; t.s.rjust(3, 'ß') ; @S.lstrip() ;
        t.w.rstrip('z') ; t.s.removesuffix('c') ; t.s.rsplit(',', 1)[0] ; t.s.splitlines()[0] ; t.s[5:0:-1] ;
        t.s[-2:-1] ; t.s[::t.j] ; t.w[-100:100] ; t.s[t.on:] ; t.s[-1] ; t.s[::2] ; chr(t.k) ; @S.lower().upper() ;
        re.sub('(.)', r'\1\1', t.s) ; re.search('(a)(b)?', t.s).group(2) ; re.match('(.)', t.w).group() ;
        min(t.s, @S, 'b') ; (y := @S) + y ; str(t.y) ; str(t.on is None)
    """,
}


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(" ;")]


LEAVES = {k: _listed(v) for k, v in _LEAVES.items()}
TREES = {k: _listed(v) for k, v in _TREES.items()}
