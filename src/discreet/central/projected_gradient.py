"""Private projected gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.central.centring import CentredSettings, Sample, release_centre, take_sample
from discreet.central.method import PrivateMethod, Progress, Trained, report
from discreet.central.settings import Auto, Positive, Rank, Rounds, Share
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueInvalid
from discreet.item_side import ItemSide
from discreet.item_side.spectrum import leading, signal
from discreet.privacy.clipped import clip_rows
from discreet.privacy.dense_rows import release_dense_rows
from discreet.privacy.gate import Gate

__all__ = ["ProjectedGradient", "ProjectedGradientSettings"]

Floats = npt.NDArray[np.float64]
_SPREAD=.5
VERBOSE=False
MODE='max'

class ProjectedGradientSettings(CentredSettings):
    steps: Rounds = 4
    rank: Rank = 8
    step_size: Positive | Auto = "auto"
    shrinkage: Share = 0.05
    row_bound: Positive | Auto = "auto"
    gravity: Positive | Auto = "auto"

class ProjectedGradient(PrivateMethod[ProjectedGradientSettings]):
    name = "projected-gradient"
    settings_type = ProjectedGradientSettings

    def _train(self, ratings, gate, rng, progress):
        s=self.settings; m=ratings.n_items
        sample=take_sample(ratings,s,rng); centre=release_centre(gate,sample,s)
        base=sample.row_norm(_SPREAD) if s.row_bound=="auto" else s.row_bound
        mu=gate.ledger.remaining_mu/math.sqrt(s.steps)
        p=sample.pattern; targets=sample.ratings.values-centre
        V=np.zeros((m,0)); c=np.zeros((p.n_users,0)); f=np.zeros(0)
        grav=0.
        if not ratings.explicit: grav=min(1.,20*sample.usual/m) if s.gravity=="auto" else s.gravity
        eta=1.
        bound=base
        for t in range(s.steps):
            report(progress,t,s.steps)
            e=eta*kernels.residuals(p.indptr,p.items,targets,c,V)
            M=release_dense_rows(gate,f"step {t+1}",p,e/bound,(1-eta*grav)*c/bound,V,mu=mu)*bound**2
            vals,W=leading(M,s.rank); sv=np.sqrt(signal(vals,bound**2/mu,m))
            keep=sv>s.shrinkage*sv.max(initial=1e-300)
            if not keep.any(): continue
            sv,W=sv[keep],W[:,keep]
            f=1-s.shrinkage*sv[0]/sv
            f=np.clip(f,0,1-1e-6)
            if t==0:
                z=np.abs(W[:,0]); mode=MODE
                pm=sample.usual*z.max()/z.sum() if mode=='max' else sample.usual*(z**3).sum()/z.sum() if mode=='mean' else (sample.usual*(z**2).sum()/z.sum()**1*z.sum()/1 if 0 else sample.usual*np.sqrt((z**4).sum()/(z**2).sum())/z.sum()*np.sqrt(1.))
                eta=1/(min(pm,1.)+grav) if s.step_size=="auto" else s.step_size
                e=e*eta; bound=base*math.sqrt(m/sample.usual)
            c=(kernels.transform_rows(c,W.T@V)*(1-eta*grav)+np.column_stack([p.user_sums(e*W[p.items,k]) for k in range(W.shape[1])]))*f
            c=clip_rows(c,bound)
            V=W
            if VERBOSE: print(t,'rank',keep.sum(),'f',f.round(2),'eta',eta,'norms',np.percentile(np.sqrt((c**2).sum(1)),[10,50,90]).round(1),'L',bound)
        last=eta
        pen=(1/f-1)/last
        F=V/np.sqrt(pen)
        side=ItemSide("explicit" if ratings.explicit else "implicit",centre,np.zeros(m),F,ratings.rating_range,factor_penalty=1.,gravity=grav,own_mean=np.zeros(m))
        return Trained(side,s.steps)
